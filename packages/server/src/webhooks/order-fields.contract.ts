import { Type } from 'typebox';
import { nullable, oneOf } from '../platform/http/schemas.contract.ts';
import { orderings, stuckRules } from './values.ts';

/** What an endpoint is set to about the order of its deliveries. */
export const orderSettings = {
  ordered: oneOf(
    orderings,
    'store, group: what was reported with the same one is delivered one after the other, in its order; what has none has no order',
  ),
  when_stuck: oneOf(
    stuckRules,
    'of an ordered endpoint, when a delivery is abandoned: block, the others of its key wait until it is retried or skipped; pass, the next goes',
  ),
};

/** The same as an operator gives them. */
export const givenOrderSettings = {
  ordered: Type.Optional(orderSettings.ordered),
  when_stuck: Type.Optional(orderSettings.when_stuck),
};

/** The place of a delivery among others. */
export const placeInOrder = {
  sequence: nullable(
    Type.Integer({
      description:
        'webhook-sequence: grows with the time at which it was accepted, of one order_key strictly; null: made by an earlier release',
    }),
  ),
  order_key: nullable(
    Type.String({ description: 'the store or group that it goes in order with; null: none' }),
  ),
  waits_for: nullable(
    Type.String({ description: 'the delivery of the same order_key that goes before it' }),
  ),
};

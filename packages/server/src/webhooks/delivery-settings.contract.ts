import { type Static, Type } from 'typebox';
import { exactly, nullable } from '../platform/http/schemas.contract.ts';

const timeoutSchema = Type.Integer({
  minimum: 1,
  maximum: 120,
  description:
    'seconds that one attempt may take in all, where that is less than SVC_WEBHOOK_TIMEOUT_SECONDS',
});
const inFlightSchema = Type.Integer({
  minimum: 1,
  maximum: 64,
  description: 'attempts under way at once, at most',
});
const noRetrySchema = Type.Array(
  // 410 and 429 have a meaning of their own.
  Type.Integer({ minimum: 400, maximum: 499, not: { enum: [410, 429] } }),
  {
    ...{ minItems: 1, maxItems: 50, uniqueItems: true },
    description:
      'answers after which a delivery is not tried again but abandoned at once (`final_status`), as [400, 422]: any 4xx but 410 and 429',
  },
);
const expiresSchema = Type.Integer({
  minimum: 1,
  maximum: 2_592_000,
  description:
    'seconds after which a delivery is worthless: it is not sent any more but abandoned (`expired`); one that is retried by hand is sent once all the same',
});

/** How an endpoint is sent to, as far as that differs from the defaults. */
export const deliverySettingsSchema = Type.Object(
  {
    timeout_seconds: Type.Optional(timeoutSchema),
    max_in_flight: Type.Optional(inFlightSchema),
    no_retry_on: Type.Optional(noRetrySchema),
    expires_after_seconds: Type.Optional(expiresSchema),
  },
  { description: 'how it is sent to; what is not named has the default' },
);
export type DeliverySettings = Static<typeof deliverySettingsSchema>;

/** A change of these settings: null puts one back to its default. */
export const deliveryChangeSchema = exactly(
  {
    timeout_seconds: Type.Optional(nullable(timeoutSchema)),
    max_in_flight: Type.Optional(nullable(inFlightSchema)),
    no_retry_on: Type.Optional(nullable(noRetrySchema)),
    expires_after_seconds: Type.Optional(nullable(expiresSchema)),
  },
  { description: 'settings to change; null puts one back to its default, others stay' },
);
export type DeliveryChange = Static<typeof deliveryChangeSchema>;

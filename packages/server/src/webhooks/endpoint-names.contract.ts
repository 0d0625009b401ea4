import { Type } from 'typebox';
import { nameSchema, nullable } from '../platform/http/schemas.contract.ts';

const uid = Type.String({
  ...{ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9._-]+$' },
  description: 'what files call it, one of its tenant’s: letters, digits, ".", "_" and "-"',
});
const labels = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9._/-]{1,63}$' }),
  Type.String({ maxLength: 200, pattern: '^[^\\u0000\\ud800-\\udfff]*$' }),
  {
    ...{ maxProperties: 20, additionalProperties: false },
    description: 'labels of your own, as {"team": "soc"}',
  },
);

/** What an endpoint is called, as it is shown, when it is made, and when it is changed. */
export const shownNames = {
  uid: nullable(uid),
  name: nullable(nameSchema),
  labels: Type.Record(Type.String(), Type.String()),
};
export const newNames = {
  uid: Type.Optional(uid),
  name: Type.Optional(nameSchema),
  labels: Type.Optional(labels),
};
export const changedNames = {
  uid: Type.Optional(nullable(uid)),
  name: Type.Optional(nullable(nameSchema)),
  labels: Type.Optional(labels),
};

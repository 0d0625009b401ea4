import { type Static, Type } from 'typebox';
import {
  exactly,
  fits,
  instantSchema,
  nullable,
  optional,
} from '../platform/http/schemas.contract.ts';

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
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
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

const signatureFields = {
  header: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'its name, as X-Hub-Signature-256; none of ours, and none of `headers`',
  }),
  value: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'the value, with {hex} or {base64} where the signature stands, as sha256={hex}; {id} and {timestamp} are filled in, too',
  }),
  signs: Type.String({
    minLength: 6,
    maxLength: 200,
    description: 'what is signed, with {body}, and {id} and {timestamp} by choice',
  }),
};
const signatureSchema = Type.Object(
  {
    ...signatureFields,
    has_own_secret: Type.Boolean({ description: 'false: the present secret signs it' }),
  },
  {
    description:
      'a header with an HMAC-SHA256 in a form that receivers know from elsewhere, beside those of Standard Webhooks',
  },
);
const signatureChangeSchema = exactly(
  {
    ...signatureFields,
    signs: Type.Optional({ ...signatureFields.signs, default: '{body}' }),
    secret: Type.Optional(
      nullable(
        Type.String({
          minLength: 8,
          maxLength: 500,
          pattern: '^[!-~]+$',
          [fits]: 'printable ASCII without spaces',
          description: 'a text that its receiver knows as the key; sealed, and never shown',
        }),
        'left out: as it is; null: the bytes of the present secret are the key',
      ),
    ),
  },
  { description: 'as a whole, but for its secret' },
);

const shownCertificate = Type.Object({
  subject: Type.String(),
  expires_at: { ...instantSchema, description: 'of several, that of the one which ends first' },
});
const tlsSchema = Type.Object(
  { certificate: Type.Optional(shownCertificate), ca: Type.Optional(shownCertificate) },
  {
    description:
      'by which certificate the service shows who it is (mTLS), and by which authorities the receiver does',
  },
);
const pemSchema = (description: string) =>
  Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 65_536, description })));
const tlsChangeSchema = exactly(
  {
    certificate: pemSchema('PEM of the client certificate, and of those between it and its root'),
    key: pemSchema('PEM of its private key, without a passphrase; sealed, and never shown'),
    ca: pemSchema('PEM of the authorities that are trusted instead of the public ones'),
  },
  {
    description:
      'null takes a member away, others stay; all are gone when the URL leads to another scheme, host or port, unless named with it',
  },
);

/** How an endpoint is sent to, as far as that differs from the defaults. */
export const deliverySettingsSchema = Type.Object(
  {
    timeout_seconds: Type.Optional(timeoutSchema),
    max_in_flight: Type.Optional(inFlightSchema),
    no_retry_on: Type.Optional(noRetrySchema),
    expires_after_seconds: Type.Optional(expiresSchema),
    signature: Type.Optional(signatureSchema),
    tls: Type.Optional(tlsSchema),
    public_key: optional.string({
      description:
        'whpk_…, by which the signatures v1a (Ed25519) are verified that stand beside those of the secrets',
    }),
    previous_key_until: Type.Optional({
      ...instantSchema,
      description: 'until then the key pair before signs as well',
    }),
  },
  { description: 'how it is sent to; what is not named has the default' },
);
export type DeliverySettings = Static<typeof deliverySettingsSchema>;

export const deliveryChangeSchema = exactly(
  {
    timeout_seconds: Type.Optional(nullable(timeoutSchema)),
    max_in_flight: Type.Optional(nullable(inFlightSchema)),
    no_retry_on: Type.Optional(nullable(noRetrySchema)),
    expires_after_seconds: Type.Optional(nullable(expiresSchema)),
    signature: Type.Optional(nullable(signatureChangeSchema)),
    tls: Type.Optional(nullable(tlsChangeSchema)),
    asymmetric: Type.Optional(
      nullable(
        Type.Union([Type.Boolean(), Type.Literal('new')]),
        'true makes a key pair, which signs as well: see `public_key`. new replaces it by another, beside which it signs for 24 hours',
      ),
    ),
  },
  { description: 'settings to change; null puts one back to its default, others stay' },
);
export type TlsChange = Static<typeof tlsChangeSchema>;
export type DeliveryChange = Static<typeof deliveryChangeSchema>;

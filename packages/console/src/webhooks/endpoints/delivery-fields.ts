import type { Endpoint } from '../../api/types.ts';

/** What the form says of a field. */
export type FieldProps = {
  label: string;
  description?: string;
  placeholder?: string;
  maxLength?: number;
  /** What there is to choose from. */
  data?: readonly string[];
};

/** The fields of the section DELIVERY: how an endpoint is sent to. */
export const deliveryFields = {
  timeout_seconds: {
    label: 'Seconds that an attempt may take',
    description: 'Empty: as the service is set to',
    maxLength: 3,
  },
  max_in_flight: {
    label: 'Attempts under way at once',
    description: '1 to 64. Empty: no bound of its own',
    maxLength: 2,
  },
  no_retry_on: {
    label: 'Answers after which nothing is tried again',
    description: 'Such as 400, 422: such a delivery is abandoned at once. Empty: 410 alone',
    maxLength: 300,
  },
  expires_after_seconds: {
    label: 'Seconds after which a delivery is worthless',
    description: 'It is not sent any more, and told as expired. Empty: it is sent whatever its age',
    maxLength: 7,
  },
  signature: {
    label: 'Signature in another form',
    description:
      'A header with an HMAC-SHA256, as X-Hub-Signature-256: sha256={hex}; also {base64}, {timestamp}, {id}. Empty: none',
    maxLength: 300,
  },
  signs: {
    label: 'What it signs',
    description: 'Such as {timestamp}.{body}. Empty: {body}',
    maxLength: 200,
  },
  signature_secret: {
    label: 'The text that its receiver knows as the key',
    description: 'Never shown again. Empty: as it was, or the bytes of the secret',
    maxLength: 500,
  },
  asymmetric: {
    label: 'Sign with a key pair as well (v1a, Ed25519)',
    description:
      'The public key is then shown among the facts of the endpoint. A replaced pair signs beside the new one for 24 hours',
    data: ['no', 'yes', 'replace it'],
  },
  certificate: {
    label: 'Client certificate (mTLS), PEM',
    description: 'With those between it and its root. Empty: as it is; - takes it away',
    maxLength: 65_536,
  },
  key: {
    label: 'Its private key, PEM',
    description: 'Without a passphrase. Never shown again',
    maxLength: 65_536,
  },
  ca: {
    label: 'Authorities that its receiver is trusted by, PEM',
    description: 'Instead of the public ones. Empty: as it is; - takes them away',
    maxLength: 65_536,
  },
} as const satisfies Readonly<Record<string, FieldProps>>;

/** Those that take more than a line. */
export const longFields: readonly string[] = [
  ...['where', 'headers', 'labels', 'certificate', 'key', 'ca'],
];

type DeliveryField = keyof typeof deliveryFields;
type Texts = Readonly<Record<DeliveryField, string>>;

/** These fields for an endpoint, or for a new one. */
export function deliveryTexts(delivery: Endpoint['delivery'] | undefined): Texts {
  const text = (value: number | undefined) => (value === undefined ? '' : String(value));
  return {
    timeout_seconds: text(delivery?.timeout_seconds),
    max_in_flight: text(delivery?.max_in_flight),
    no_retry_on: delivery?.no_retry_on?.join(', ') ?? '',
    expires_after_seconds: text(delivery?.expires_after_seconds),
    signature: delivery?.signature
      ? `${delivery.signature.header}: ${delivery.signature.value}`
      : '',
    signs: delivery?.signature?.signs ?? '',
    signature_secret: '',
    asymmetric: delivery?.public_key === undefined ? 'no' : 'yes',
    certificate: '',
    key: '',
    ca: '',
  };
}

const pairWords: Readonly<Record<string, true | 'new'>> = { yes: true, 'replace it': 'new' };

/** These fields in the types of the API; null is the default. */
export function parsedDelivery(texts: Texts) {
  const statuses = words(texts.no_retry_on).map(numeral);
  return {
    timeout_seconds: numeralOrNull(texts.timeout_seconds),
    max_in_flight: numeralOrNull(texts.max_in_flight),
    no_retry_on: statuses.length === 0 ? null : statuses,
    expires_after_seconds: numeralOrNull(texts.expires_after_seconds),
    signature: parsedSignature(texts),
    asymmetric: pairWords[texts.asymmetric] ?? null,
    tls: parsedTls(texts),
  };
}

function parsedSignature({ signature, signs, signature_secret: secret }: Texts) {
  const [header = '', ...value] = signature.split(':');
  if (signature.trim() === '') return null;
  return {
    header: header.trim(),
    value: value.join(':').trim(),
    ...(signs.trim() !== '' && { signs: signs.trim() }),
    ...(secret !== '' && { secret }),
  };
}

/** What is typed of the certificates; null where nothing is. The key goes with its certificate. */
function parsedTls({ certificate, key, ca }: Texts) {
  const typed = Object.entries({ certificate, key: certificate.trim() === '-' ? '-' : key, ca })
    .map(([name, text]) => [name, text.trim()] as const)
    .filter(([, text]) => text !== '');
  if (typed.length === 0) return null;
  return Object.fromEntries(typed.map(([name, text]) => [name, text === '-' ? null : text]));
}

/** How an endpoint is sent to, where that differs from the defaults, for the list of its facts. */
export function deliveryFacts(delivery: Endpoint['delivery']): Record<string, string | undefined> {
  const { timeout_seconds: limit, max_in_flight: most } = delivery ?? {};
  const { no_retry_on: final, expires_after_seconds: expires, signature: own } = delivery ?? {};
  const { previous_key_until: replacedUntil } = delivery ?? {};
  const before =
    replacedUntil !== undefined && Date.parse(replacedUntil) > Date.now()
      ? replacedUntil
      : undefined;
  return {
    'time limit': limit === undefined ? undefined : `${limit} s an attempt`,
    'in flight': most === undefined ? undefined : `${most} at once, at most`,
    'final answers': final?.join(', '),
    'expires after': expires === undefined ? undefined : `${expires} s`,
    signature: own && `${own.header}: ${own.value} of ${own.signs}`,
    'public key': delivery?.public_key,
    'key pair before': before && `signs until ${before.slice(0, 16).replace('T', ' ')} UTC`,
    'client certificate': until(delivery?.tls?.certificate),
    'own CA': until(delivery?.tls?.ca),
  };
}

function until(shown: { subject: string; expires_at: string } | undefined): string | undefined {
  return shown && `${shown.subject}, until ${shown.expires_at.slice(0, 10)}`;
}

export function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

/** Reads a number. Other text is sent as it is, so that the service refuses it, and the fault is shown at its field. */
export function numeral(text: string): number {
  const value = Number(text);
  return Number.isNaN(value) ? (text as unknown as number) : value;
}

export function numeralOrNull(text: string): number | null {
  return text === '' ? null : numeral(text);
}

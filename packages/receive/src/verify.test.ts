import { expect, test } from 'vitest';
import { newSecret, secretBytes } from '../../server/src/webhooks/secret.ts';
import { newKeyPair, privateKeyOf, signatureHeaders } from '../../server/src/webhooks/signature.ts';
import { type HeaderSource, type Secrets, type VerifyOptions, verify } from './verify.ts';

// The service signs, and this package verifies.

const [secret, other] = [newSecret(), newSecret()];
const now = () => 1_772_719_629_000;
const body =
  '{"type":"incident.created","timestamp":"2026-03-05T14:07:09Z","data":{"n":9007199254740993,"é":"\u2028"}}';

function sign({ by = [secret], text = body, ageSeconds = 0, id = 'msg_1' } = {}) {
  const timestampSeconds = now() / 1000 - ageSeconds;
  return signatureHeaders({ id, timestampSeconds, body: text, secrets: by.map(secretBytes) });
}

const codeOf = (
  headers: HeaderSource,
  { text = body, secrets = secret, ...options }: VerifyOptions & Given = {},
) =>
  verify(text, headers, secrets, { now, ...options }).then(
    () => 'right',
    ({ code, status }) => `${status} ${code}`,
  );
type Given = { text?: string | Uint8Array; secrets?: Secrets };

test('what the service has signed is verified and parsed, and its bytes are kept', async () => {
  const bytes = new TextEncoder().encode(body);
  for (const given of [body, bytes, Buffer.from(body)]) {
    const webhook = await verify<{ é: string }>(given, sign(), secret, { now });
    expect(webhook).toMatchObject({ id: 'msg_1', type: 'incident.created' });
    expect(webhook.timestamp).toBe('2026-03-05T14:07:09Z');
    expect(webhook.data.é).toBe('\u2028');
    expect(new TextDecoder().decode(webhook.body)).toBe(body);
  }
});

test('what is sent again names the webhook-id that it had first', async () => {
  const again = { ...sign({ id: 'msg_2' }), 'Webhook-Replay': 'msg_1' };
  const webhook = await verify(body, again, secret, { now });
  expect(webhook).toMatchObject({ id: 'msg_2', replayOf: 'msg_1' });
  expect(await verify(body, sign(), secret, { now })).not.toHaveProperty('replayOf');
});

test('headers are found in each form that runtimes have them in', async () => {
  const headers = sign();
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
  );
  const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  for (const given of [new Headers(headers), upper, lists]) {
    expect(await codeOf(given)).toBe('right');
  }
});

test('any of several secrets may have signed, on both sides', async () => {
  expect(await codeOf(sign({ by: [other, secret] }))).toBe('right');
  expect(await codeOf(sign(), { secrets: [other, secret] })).toBe('right');
  expect(await codeOf(sign(), { secrets: [secret, undefined] })).toBe('right');
  expect(await codeOf(sign(), { secrets: [other] })).toBe('401 signature_wrong');
});

test('a public key verifies what the key pair signed, and nothing else', async () => {
  const [pair, foreign] = [newKeyPair(), newKeyPair()];
  const keys = [{ key: privateKeyOf(pair.privateKey), untilMillis: null }];
  const signing = { keys, own: null };
  const timestampSeconds = now() / 1000;
  const request = { id: 'msg_1', timestampSeconds, body, secrets: [secretBytes(other)], signing };
  const headers = signatureHeaders(request);
  expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1a,\S{88}$/);
  const by = (secrets: Secrets, text = body) => codeOf(headers, { secrets, text });
  expect(await by(pair.publicKey)).toBe('right');
  expect(await by([secret, pair.publicKey])).toBe('right');
  expect(await by(other)).toBe('right');
  expect(await by(foreign.publicKey)).toBe('401 signature_wrong');
  expect(await by(pair.publicKey, `${body} `)).toBe('401 signature_wrong');
  expect(await codeOf(sign(), { secrets: pair.publicKey })).toBe('401 signature_wrong');
  await expect(by('whpk_AAAA')).resolves.toContain('option_invalid');
});

test('what is no right signature is refused', async () => {
  const headers = sign();
  const signature = headers['webhook-signature'] ?? '';
  const wrong = [
    signature.replace('v1,', 'v2,'),
    signature.replace('v1,', ''),
    signature.slice(0, -1),
    `${signature}=`,
    signature.toLowerCase(),
    'v1,',
    ',',
  ];
  for (const one of wrong) {
    expect(await codeOf({ ...headers, 'webhook-signature': one }), one).toBe('401 signature_wrong');
  }
  expect(await codeOf(headers, { text: `${body} ` })).toBe('401 signature_wrong');
  expect(await codeOf(headers, { text: JSON.stringify(JSON.parse(body)) })).toBe(
    '401 signature_wrong',
  );
  expect(await codeOf({ ...headers, 'webhook-id': 'msg_2' })).toBe('401 signature_wrong');
  const later = { ...headers, 'webhook-timestamp': String(now() / 1000 + 1) };
  expect(await codeOf(later)).toBe('401 signature_wrong');
});

test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
  'without %s it is no webhook',
  async (name) => {
    expect(await codeOf({ ...sign(), [name]: undefined })).toBe('400 header_missing');
  },
);

test('it is refused further from the clock than the tolerance allows, either way', async () => {
  expect(await codeOf(sign({ ageSeconds: 300 }))).toBe('right');
  expect(await codeOf(sign({ ageSeconds: 301 }))).toBe('401 timestamp_too_old');
  expect(await codeOf(sign({ ageSeconds: -300 }))).toBe('right');
  expect(await codeOf(sign({ ageSeconds: -301 }))).toBe('401 timestamp_too_new');
  expect(await codeOf(sign({ ageSeconds: 11 }), { toleranceSeconds: 10 })).toBe(
    '401 timestamp_too_old',
  );
  for (const odd of ['1e9', '-1', '1.5', 'NaN', '2026-03-05']) {
    const headers = { ...sign(), 'webhook-timestamp': odd };
    expect(await codeOf(headers), odd).toBe('400 timestamp_invalid');
  }
});

test('what is signed and no webhook is refused', async () => {
  for (const text of ['', 'null', '[]', '{"type":1}', '{"type":"a","timestamp":"b"}', '{']) {
    expect(await codeOf(sign({ text }), { text }), text).toBe('400 payload_invalid');
  }
});

test('a secret that is none is named as the fault', async () => {
  const short = `whsec_${Buffer.alloc(23, 1).toString('base64')}`;
  const odd = [secret.slice(6), 'whsec_', 'whsec_a', `${secret}!`, short, '', [], [undefined]];
  for (const secrets of odd) {
    expect(await codeOf(sign(), { secrets }), String(secrets)).toBe('500 option_invalid');
  }
  expect(await codeOf(sign(), { secrets: `${secret.replace(/=+$/, '')}\n` })).toBe('right');
});

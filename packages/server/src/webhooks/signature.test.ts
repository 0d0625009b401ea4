import { generateKeyPairSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { signatureHeaders } from './signature.ts';

const timestampSeconds = Math.floor(Date.now() / 1000);
const request = { id: 'msg_1', timestampSeconds, body: '{"type":"incident.created"}' };
const verifier = (secret: Buffer) => new Webhook(secret.toString('base64'));

test('a changed body, id or time, or another secret, does not verify', () => {
  const secret = randomBytes(32);
  const headers = signatureHeaders({ ...request, secrets: [secret] });
  const verify = (body: string, change: Record<string, string> = {}, by = secret) =>
    verifier(by).verify(body, { ...headers, ...change });
  expect(() => verify('{"type":"incident.updated"}')).toThrow();
  expect(() => verify(request.body, { 'webhook-id': 'msg_2' })).toThrow();
  expect(() =>
    verify(request.body, { 'webhook-timestamp': String(timestampSeconds - 1) }),
  ).toThrow();
  expect(() => verify(request.body, {}, randomBytes(32))).toThrow();
});

test('the example of the specification comes out as it stands there', () => {
  const headers = signatureHeaders({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSeconds: 1_614_265_330,
    body: '{"test": 2432232314}',
    secrets: [Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')],
  });
  expect(headers).toEqual({
    'content-type': 'application/json',
    'user-agent': 'svcctl',
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('whatever the body, the reference implementation verifies it', () => {
  fc.assert(
    fc.property(fc.json(), fc.uint8Array({ minLength: 24, maxLength: 64 }), (body, bytes) => {
      const secret = Buffer.from(bytes);
      const headers = signatureHeaders({ ...request, body, secrets: [secret] });
      expect(verifier(secret).verify(body, { ...headers })).toEqual(JSON.parse(body));
    }),
  );
});

test('during a rotation both the new and the old secret verify', () => {
  const secrets = [randomBytes(32), randomBytes(24)];
  const headers = signatureHeaders({ ...request, secrets });
  expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  for (const secret of secrets) verifier(secret).verify(request.body, { ...headers });
});

test('a key pair that was replaced signs up to its end', () => {
  const key = () => generateKeyPairSync('ed25519').privateKey;
  const [present, old] = [key(), key()];
  const pairsOf = (untilMillis: number) => {
    const keys = [
      { key: present, untilMillis: null },
      { key: old, untilMillis },
    ];
    const headers = signatureHeaders({ ...request, secrets: [], signing: { keys, own: null } });
    return headers['webhook-signature']?.split(' ').length;
  };
  expect(pairsOf(timestampSeconds * 1000 + 1)).toBe(2);
  expect(pairsOf(timestampSeconds * 1000)).toBe(1);
});

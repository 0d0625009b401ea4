import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { findSignatureFault, parseSecret } from './receiver.ts';

const nowMillis = Date.UTC(2026, 2, 5, 12);
const secret = randomBytes(32);

/** A delivery as the reference implementation signs it. */
function signed(body: string, { by = secret, ageSeconds = 0, id = 'msg_1' } = {}) {
  const at = new Date(nowMillis - ageSeconds * 1000);
  const signature = new Webhook(by.toString('base64')).sign(id, at, body);
  const headers: Record<string, string> = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature,
  };
  return { headers, body: Buffer.from(body) };
}
const faultOf = (request: ReturnType<typeof signed>) =>
  findSignatureFault(request, secret, nowMillis);

test.each([
  ['webhook-id', 'msg_2', 'wrong signature'],
  ['webhook-id', '', 'unsigned'],
  ['webhook-signature', '', 'unsigned'],
  ['webhook-signature', 'v1,', 'wrong signature'],
  ['webhook-signature', 'v1,AAAA', 'wrong signature'],
  ['webhook-timestamp', '1', 'wrong signature'],
  ['webhook-timestamp', 'now', 'no timestamp'],
])('%s as %j is %s', (name, value, fault) => {
  const { headers, body } = signed('{}');
  expect(faultOf({ headers: { ...headers, [name]: value }, body })).toBe(fault);
});

test('a signature of another version, secret or body does not count', () => {
  const { headers, body } = signed('{}');
  const v2 = {
    ...headers,
    'webhook-signature': `${headers['webhook-signature']}`.replace('v1', 'v2'),
  };
  expect(faultOf({ headers: v2, body })).toBe('wrong signature');
  expect(faultOf(signed('{}', { by: randomBytes(32) }))).toBe('wrong signature');
  expect(faultOf({ headers, body: Buffer.from('{} ') })).toBe('wrong signature');
});

test.each([
  [300, null],
  [301, 'too old'],
  [-300, null],
  [-301, 'from the future'],
])('a delivery %d s old is %j', (ageSeconds, fault) => {
  expect(faultOf(signed('{}', { ageSeconds }))).toBe(fault);
});

test('whatever the reference implementation signs is verified', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.uint8Array({ minLength: 24, maxLength: 64 }),
      (body, bytes) => {
        const by = Buffer.from(bytes);
        expect(findSignatureFault(signed(body, { by }), by, nowMillis)).toBeNull();
      },
    ),
  );
});

test('one right signature among several is enough', () => {
  const { headers, body } = signed('{}');
  const several = `v1,AAAA v1a,xyz ${headers['webhook-signature']}`;
  expect(faultOf({ headers: { ...headers, 'webhook-signature': several }, body })).toBeNull();
});

test('a secret is whsec_ and 24 to 64 bytes', () => {
  for (const bad of ['', 'whsec_', 'whsec_AAAA', secret.toString('base64'), 'whsec_%%%%']) {
    expect(() => parseSecret(bad)).toThrow(AppError);
  }
  expect(parseSecret(`whsec_${secret.toString('base64')}\n`).equals(secret)).toBe(true);
});

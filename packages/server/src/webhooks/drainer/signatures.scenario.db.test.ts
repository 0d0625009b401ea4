import { createHmac, createPublicKey, verify } from 'node:crypto';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { secretBytes } from '../secret.ts';
import { isStatus, useCleanWorld } from './testing/world.ts';

const { world, receiver } = useCleanWorld();
const at = (id: string, verb = '') => `/webhook/endpoints/${id}${verb}`;
const change = (id: string, body: object) => world.call('PATCH', at(id), { body });
const hmac = (key: Buffer | string, text: string, coding: 'hex' | 'base64') =>
  createHmac('sha256', key).update(text).digest(coding);

/** The next request, of a delivery that is reported now. */
async function send() {
  const count = receiver.requests.length + 1;
  const ids = await world.report();
  const request = (await receiver.waitFor(count)).at(-1);
  await world.untilAll(ids, 'delivered');
  if (request === undefined) throw new Error('nothing came');
  return request;
}

const hub = { header: 'X-Hub-Signature-256', value: 'sha256={hex}' };

test('a header in the form of a receiver is signed with the text that it knows, also after a rotation', async () => {
  const signature = { ...hub, secret: 'as-it-was-elsewhere' };
  const { id } = await world.addEndpoint(receiver.url(), { delivery: { signature } });
  const told = await world.call('GET', at(id));
  expect(told.json.delivery).toEqual({
    signature: { ...hub, signs: '{body}', has_own_secret: true },
  });
  await world.call('POST', at(id, '/rotate-secret'));
  const { headers, body } = await send();
  const expected = `sha256=${hmac('as-it-was-elsewhere', body, 'hex')}`;
  expect(headers['x-hub-signature-256']).toBe(expected);
  expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
  const audit = await world.call('GET', '/audit?limit=20');
  expect(audit.text + told.text).not.toContain('as-it-was-elsewhere');
});

test('the time that is signed is that of the database, whatever the clock of the process', async () => {
  const { id } = await world.addEndpoint(receiver.url());
  const realNow = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 301_000);
  const ways = async () => {
    const sent = await send();
    await world.call('POST', at(id, '/ping'));
    const pinged = (await receiver.waitFor(receiver.requests.length)).at(-1);
    const body = { tenant: 'TX', type: 'pull' };
    const polled = await world.call('POST', '/webhook/endpoints', { body });
    await world.report();
    const { json } = await world.call('GET', at(polled.json.id, '/deliveries/poll'));
    return [sent, pinged, json.data[0]];
  };
  for (const way of await ways().finally(() => clock.mockRestore())) {
    const signedAt = Number(way.headers['webhook-timestamp']);
    const [row] = await world.db.query<{ seconds: number }>(sql`
      select abs(extract(epoch from now())::int - ${signedAt}::int) as seconds`);
    expect(row?.seconds).toBeLessThan(60);
  }
});

test('what is signed may have the time and the id, and the present secret is the key without another', async () => {
  const signature = {
    header: 'Stripe-Signature',
    value: 't={timestamp},v1={base64}',
    signs: '{timestamp}.{id}.{body}',
  };
  const { id, secret } = await world.addEndpoint(receiver.url(), { delivery: { signature } });
  const expectSignedBy = async (key: string) => {
    const { headers, body, id: webhookId } = await send();
    const time = headers['webhook-timestamp'];
    const text = `${time}.${webhookId}.${body}`;
    const signed = hmac(secretBytes(key), text, 'base64');
    expect(headers['stripe-signature']).toBe(`t=${time},v1=${signed}`);
  };
  await expectSignedBy(secret);
  const rotated = (await world.call('POST', at(id, '/rotate-secret'))).json.secret;
  await expectSignedBy(rotated);
});

test('the text of a signature stays when its form changes, until null takes it away', async () => {
  const signature = { ...hub, secret: 'as-it-was-elsewhere' };
  const { id } = await world.addEndpoint(receiver.url(), { delivery: { signature } });
  await change(id, { delivery: { signature: { ...hub, value: 'v0={hex}' } } });
  const first = await send();
  expect(first.headers['x-hub-signature-256']).toBe(
    `v0=${hmac('as-it-was-elsewhere', first.body, 'hex')}`,
  );
  const changed = await change(id, { delivery: { signature: { ...hub, secret: null } } });
  expect(changed.json.delivery.signature.has_own_secret).toBe(false);
  await change(id, { delivery: { signature: null } });
  expect((await send()).headers).not.toHaveProperty('x-hub-signature-256');
});

test.each([
  ['header', { ...hub, header: 'webhook-signature' }],
  ['header', { ...hub, header: 'a b' }],
  ['value', { ...hub, value: 'sha256=' }],
  ['value', { ...hub, value: '{hex}{base64}' }],
  ['value', { ...hub, value: '{hex} {body}' }],
  ['value', { ...hub, value: '{hex}\n' }],
  ['signs', { ...hub, signs: '{timestamp}' }],
  ['signs', { ...hub, signs: '{body}{secret}' }],
  ['secret', { ...hub, secret: 'short' }],
])('a signature with a wrong %s is refused: %o', async (member, signature) => {
  const { id } = await world.addEndpoint(receiver.url());
  const answer = await change(id, { delivery: { signature } });
  expect(answer.status, answer.text).toBe(400);
  expect(answer.json.errors[0].path).toBe(`/delivery/signature/${member}`);
});

test('a signature goes under no name that a header to add has, whichever comes first', async () => {
  const headers = { 'x-hub-signature-256': 'mine' };
  const { id } = await world.addEndpoint(receiver.url(), { headers });
  expect((await change(id, { delivery: { signature: hub } })).status).toBe(400);
  await change(id, { headers: null, delivery: { signature: hub } });
  expect((await change(id, { headers })).status).toBe(400);
});

test('a key pair signs beside the secrets, and its public key verifies that', async () => {
  const { id } = await world.addEndpoint(receiver.url(), { delivery: { asymmetric: true } });
  const publicKey = (await world.call('GET', at(id))).json.delivery.public_key;
  expect(publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
  expect((await change(id, { delivery: { asymmetric: true } })).json.delivery.public_key).toBe(
    publicKey,
  );
  const { headers, body, id: webhookId } = await send();
  const [hmacs, asymmetric = ''] = headers['webhook-signature']?.split(' ') ?? [];
  expect(hmacs).toMatch(/^v1,/);
  const signed = `${webhookId}.${headers['webhook-timestamp']}.${body}`;
  expect(isSignedBy(publicKey, signed, asymmetric)).toBe(true);
  await change(id, { delivery: { asymmetric: false } });
  expect((await send()).headers['webhook-signature']).not.toContain('v1a');
  const again = await change(id, { delivery: { asymmetric: true } });
  expect(again.json.delivery.public_key).not.toBe(publicKey);
});

test('a key pair that is replaced signs beside the new one for a day, unless that is ended', async () => {
  const { id } = await world.addEndpoint(receiver.url(), { delivery: { asymmetric: true } });
  const replace = async () => {
    const answer = await change(id, { delivery: { asymmetric: 'new' } });
    return answer.json.delivery as { public_key: string; previous_key_until?: string };
  };
  const first = (await world.call('GET', at(id))).json.delivery;
  const realNow = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 7_200_000);
  const second = await replace().finally(() => clock.mockRestore());
  expect(first.previous_key_until).toBeUndefined();
  const left = Date.parse(second.previous_key_until ?? '') - Date.now();
  expect([left > 86_000_000, left <= 86_400_000]).toEqual([true, true]);
  const signersOf = async (...publicKeys: string[]) => {
    const { headers, body, id: webhookId } = await send();
    const signed = `${webhookId}.${headers['webhook-timestamp']}.${body}`;
    const given = (headers['webhook-signature'] ?? '').split(' ').slice(1);
    return given.map((one) => publicKeys.findIndex((key) => isSignedBy(key, signed, one)));
  };
  expect(await signersOf(first.public_key, second.public_key)).toEqual([1, 0]);
  const third = await replace();
  const all = [first.public_key, second.public_key, third.public_key];
  expect(await signersOf(...all)).toEqual([2, 1, 0]);
  // What is set otherwise leaves them as they are.
  await change(id, { delivery: { timeout_seconds: 5 } });
  expect(await signersOf(...all)).toEqual([2, 1, 0]);

  const ended = await world.call('POST', at(id, '/end-old-secrets'));
  expect(ended.json.delivery).toEqual({ public_key: third.public_key, timeout_seconds: 5 });
  expect(await signersOf(...all)).toEqual([2]);
  const [entry] = (await world.call('GET', '/audit?limit=1')).json.data;
  expect(entry.before.previous_key_until).toBe(third.previous_key_until);

  await replace();
  await change(id, { delivery: { asymmetric: false } });
  expect((await world.call('GET', at(id))).json.delivery).toEqual({ timeout_seconds: 5 });
  expect(await signersOf(...all)).toEqual([]);
});

test('without its keys nothing is sent, and setting them again mends it', async () => {
  const { id } = await world.addEndpoint(receiver.url(), { delivery: { asymmetric: true } });
  await world.db.query(sql`
    update webhook_endpoints set delivery_keys = secret, updated_at = now() where id = ${id}`);
  const [delivery = ''] = await world.report();
  const failed = await world.untilDelivery(delivery, isStatus('pending'));
  expect(failed).toMatchObject({
    failure_class: 'unsendable',
    error: 'The keys of its delivery settings cannot be decrypted. Set them again.',
  });
  expect(receiver.requests).toEqual([]);
  await change(id, { delivery: { asymmetric: true } });
  expect((await send()).headers['webhook-signature']).toContain('v1a,');
});

test('secrets that were rotated out sign no more once they are ended', async () => {
  const { id } = await world.addEndpoint(receiver.url());
  await world.call('POST', at(id, '/rotate-secret'));
  expect((await send()).headers['webhook-signature']?.split(' ')).toHaveLength(2);
  const ended = await world.call('POST', at(id, '/end-old-secrets'));
  expect(ended).toMatchObject({ status: 200, json: { previous_secret_until: null } });
  expect((await send()).headers['webhook-signature']?.split(' ')).toHaveLength(1);
  const [entry] = (await world.call('GET', '/audit?limit=1')).json.data;
  expect(entry).toMatchObject({ action: 'endpoint.end_old_secrets', target: id });
});

/** Whether a signature `v1a` of this text is that of a public key. */
function isSignedBy(publicKey: string, signed: string, signature: string): boolean {
  const x = Buffer.from(publicKey.slice(5), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  expect(signature).toMatch(/^v1a,/);
  return verify(null, Buffer.from(signed), key, Buffer.from(signature.slice(4), 'base64'));
}

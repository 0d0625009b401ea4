import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificate, type Receiver, startReceiver } from '../../../test/receiver.ts';
import { listFailing } from '../endpoints/trouble-queries.ts';
import { isStatus, useWorld } from './testing/world.ts';

const world = useWorld({ SVC_ALLOW_TARGETS: '127.0.0.0/8,::1/128' });
const day = 86_400_000;
const own = makeCertificate(['localhost'], { validUntil: new Date(Date.now() + 90 * day) });
const client = makeCertificate(['client'], { validUntil: new Date(Date.now() + 60 * day) });
const tls = { certificate: client.cert, key: client.key, ca: own.cert };
let receiver: Receiver;

beforeAll(async () => {
  const wanted = { ca: client.cert, requestCert: true, rejectUnauthorized: true };
  receiver = await startReceiver({ tls: { ...own, ...wanted } });
});
afterAll(() => receiver.close());

const at = (id: string) => `/webhook/endpoints/${id}`;
const change = (id: string, body: object) => world.call('PATCH', at(id), { body });
const url = () => receiver.url('/in', 'localhost');

test('a receiver that asks for a certificate, and has an authority of its own, is delivered to', async () => {
  const { id } = await world.addEndpoint(url(), { tenant: 'mutual', delivery: { tls } });
  const shown = (await world.call('GET', at(id))).json.delivery.tls;
  expect(shown).toEqual({
    certificate: { subject: 'CN=receiver', expires_at: expect.stringMatching(/\.000000Z$/) },
    ca: { subject: 'CN=receiver', expires_at: expect.any(String) },
  });
  const sent = await world.report(1, 'mutual');
  await world.untilAll(sent, 'delivered');
  const ping = await world.call('POST', `${at(id)}/ping`);
  expect(ping.json.outcome).toMatchObject({ status: 204 });
  // Without the certificate, and then without the authority, nothing more comes, on no connection that was made before.
  await change(id, { delivery: { tls: { certificate: null, key: null } } });
  const refused = (await world.call('POST', `${at(id)}/ping`)).json;
  // A receiver says so by an alert, or by closing the connection.
  expect(['tls', 'reset']).toContain(refused.outcome.failure_class);
  await change(id, { delivery: { tls: null } });
  const [unknown = ''] = await world.report(1, 'mutual');
  expect(await world.untilDelivery(unknown, isStatus('pending'))).toMatchObject({
    failure_class: 'tls',
    error: expect.stringContaining('self-signed'),
  });
  const audit = (await world.call('GET', '/audit?limit=50')).text;
  for (const line of client.key.split('\n').filter((text) => text.length > 40)) {
    expect(audit).not.toContain(line);
  }
});

test('certificates are for one receiver: they stay behind when the URL leads to another', async () => {
  const { id } = await world.addEndpoint(url(), {
    tenant: 'moved',
    delivery: { tls, timeout_seconds: 1, asymmetric: true },
  });
  const near = await change(id, { url: receiver.url('/other', 'localhost') });
  expect(near.json.delivery).toHaveProperty('tls');
  const far = await change(id, { url: receiver.url('/in', '127.0.0.1') });
  expect(far.json.delivery).toEqual({ timeout_seconds: 1, public_key: expect.any(String) });
  expect(far.json.warnings.join()).toContain('Its certificates: not used for the new host');
  const back = await change(id, { url: url(), delivery: { tls } });
  expect(back.json.delivery).toHaveProperty('tls');
});

const ended = makeCertificate(['client'], { validUntil: new Date(Date.now() - day) });
test.each([
  ['key', { certificate: client.cert }, 'is missing'],
  ['certificate', { key: client.key }, 'is missing'],
  ['key', { ...tls, key: own.key }, 'does not belong to the certificate'],
  ['key', { ...tls, key: 'no key' }, 'is no private key in PEM'],
  ['certificate', { ...tls, certificate: 'none' }, 'is no certificate in PEM'],
  ['certificate', { certificate: ended.cert, key: ended.key }, 'has ended on'],
  ['ca', { ca: client.key }, 'is no certificate in PEM'],
])('a wrong %s is refused when it is saved: %#', async (member, wrong, text) => {
  const { id } = await world.addEndpoint(url(), { tenant: 'wrong' });
  const answer = await change(id, { delivery: { tls: wrong } });
  expect(answer.status, answer.text).toBe(400);
  expect(answer.json.errors).toMatchObject([
    { path: `/delivery/tls/${member}`, message: expect.stringContaining(text) },
  ]);
});

test('a certificate that ends within 30 days is told of', async () => {
  const { id } = await world.addEndpoint(url(), { tenant: 'ends', delivery: { tls } });
  const told = async () => (await listFailing(world.db)).filter((one) => one.id === id);
  expect(await told()).toEqual([]);
  const soon = makeCertificate(['client'], { validUntil: new Date(Date.now() + 29 * day) });
  await change(id, { delivery: { tls: { certificate: soon.cert, key: soon.key } } });
  const [{ state, until } = { state: null, until: null }] = await told();
  expect(state).toBe('certificate');
  expect(Date.parse(until ?? '')).toBeLessThan(Date.now() + 29 * day);
  await world.db.query(sql`update webhook_endpoints set deleted_at = now() where id = ${id}`);
  expect(await told()).toEqual([]);
});

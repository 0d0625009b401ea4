import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testActor } from '../../../test/actor.ts';
import { useTestDatabase } from '../../../test/database.ts';
import { ringOf } from '../../../test/keyring.ts';
import { answer as respond, startReceiver } from '../../../test/receiver.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import { usualLimits } from '../../platform/http/connections.ts';
import { createHttpServer } from '../../platform/http/server.ts';
import { countStatuses, newDeliveryId, seedDeliveries } from '../dead-letters/testing/seed.ts';
import { createSender } from '../delivery/sender.ts';
import { createTarget } from '../delivery/target.ts';
import { addIncidentRoutes } from '../incidents/incidents.ts';
import { laneOf } from '../lanes.ts';
import type { WebhookOptions } from '../options.ts';
import { createSecretBox } from '../secret.ts';
import type { DeliveryStatus } from '../values.ts';
import { addEndpointRoutes } from './routes.ts';

const nowMillis = Date.parse('2026-03-05T14:07:09Z');
const box = createSecretBox(ringOf(1));
const db = useTestDatabase();
let fastify: FastifyInstance;
/** What came of the calls beside their answers. */
let audited: AuditEntry[] = [];
let woken: string[] = [];
let pokes: number[] = [];
let logged: string[] = [];

beforeAll(async () => {
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const http = createHttpServer({
    jsonBodyMaxBytes: 2 ** 20,
    connections: usualLimits,
    log,
    authenticate: async () => testActor,
    admit: async () => {},
    assertReady: () => {},
  });
  const options: WebhookOptions = {
    cursorKey: () => Buffer.alloc(32),
    clock: () => nowMillis,
    secretBox: () => box,
    target: createTarget({ allowTargets: ['127.0.0.0/8'] }),
    ping: {
      sender: createSender({ timeoutMillis: 2000, allowTargets: ['127.0.0.0/8'], maxIdle: 0 }),
      timeoutSeconds: 2,
    },
    wakeUp: { wake: (ids) => void woken.push(...ids), headStart: () => null },
    jobs: { poke: () => void pokes.push(1) },
    replays: { poke: () => {} },
    audit: async (_connection, entry) => void audited.push(entry),
    maxAttempts: 8,
    tenantEndpoints: 0,
    maxPayloadBytes: 1000,
    isOnHold: async () => false,
    refuseHold: async () => {},
    deliveryDays: 30,
    eventTypes: 'accept',
    log,
  };
  addEndpointRoutes(http, db, options);
  addIncidentRoutes(http, db, options);
  fastify = http.fastify;
});
afterAll(() => fastify.close());
beforeEach(() => {
  audited = [];
  woken = [];
  pokes = [];
  logged = [];
});

async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
  const answer = await fastify.inject({
    method,
    url: `/api/v1${path}`,
    ...(body === undefined ? {} : { payload: body }),
  });
  const json = answer.body === '' ? undefined : answer.json();
  return { status: answer.statusCode, text: answer.body, json };
}

async function make(more: object = {}) {
  const body = { tenant: 'T', url: 'http://127.0.0.1:9/hook', ...more };
  const answer = await call('POST', '/webhook/endpoints', body);
  expect(answer.status, answer.text).toBe(201);
  return answer.json;
}
const at = (id: string, verb = '') => `/webhook/endpoints/${id}${verb}`;

async function secretsOf(id: string) {
  const [row] = await db.query<{ secret: Buffer; previous: Buffer[]; hours: number | null }>(sql`
    select secret, previous_secrets as previous,
      extract(epoch from previous_secrets_until[1] - updated_at)::int / 3600 as hours
    from webhook_endpoints where id = ${id}`);
  if (row === undefined) throw new Error('no endpoint');
  return row;
}

/** Deliveries of an endpoint, so many in each of these statuses. */
async function addDeliveries(id: string, statuses: readonly DeliveryStatus[], each = 1) {
  for (const status of statuses) await seedDeliveries(db, { id, tenant: 'T' }, each, { status });
}

test('of the secrets rotated out within a day the newest five sign, whatever came between', async () => {
  const { id, secret } = await make();
  const made: string[] = [secret];
  for (let n = 0; n < 6; n += 1) {
    made.unshift((await call('POST', at(id, '/rotate-secret'))).json.secret);
  }
  const stored = await secretsOf(id);
  expect(stored.hours).toBe(24);
  expect(new Set(made).size).toBe(7);
  expect(box.open(stored.secret, id)).toBe(made[0]);
  expect(stored.previous.map((sealed) => box.open(sealed, id))).toEqual(made.slice(1, 6));
  await db.query(sql`
    update webhook_endpoints set previous_secrets_until[3] = now(), previous_secrets_until[4] = now(),
      previous_secrets_until[5] = now() where id = ${id}`);
  const { secret: last } = (await call('POST', at(id, '/rotate-secret'))).json;
  const left = await secretsOf(id);
  expect(box.open(left.secret, id)).toBe(last);
  expect(left.previous.map((sealed) => box.open(sealed, id))).toEqual(made.slice(0, 3));
});

test('a secret sealed under a lost key is not kept as the previous one', async () => {
  const { id } = await make();
  const lost = createSecretBox(ringOf(2)).seal('whsec_lost', id);
  await db.query(sql`update webhook_endpoints set secret = ${lost} where id = ${id}`);
  const rotated = await call('POST', at(id, '/rotate-secret'));
  expect(rotated.json.previous_secret_until).toBeNull();
  expect((await secretsOf(id)).previous).toEqual([]);
});

test('a previous secret that has run out is no longer told', async () => {
  const { id } = await make();
  const rotated = await call('POST', at(id, '/rotate-secret'));
  expect(rotated.json.previous_secret_until).toMatch(/\.\d{6}Z$/);
  await db.query(
    sql`update webhook_endpoints set previous_secrets_until[1] = now() where id = ${id}`,
  );
  expect((await call('GET', at(id))).json.previous_secret_until).toBeNull();
});

test('secrets show in no list, no audit entry, no log and no row', async () => {
  const given = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
  const headers = { Authorization: 'Bearer a-token-of-the-receiver' };
  const { id } = await make({ secret: given, headers });
  const { secret: made } = await make();
  const { secret: rotated } = (await call('POST', at(id, '/rotate-secret'))).json;
  await call('PATCH', at(id), { description: 'x' });
  await call('POST', at(id, '/ping'));
  const lists = [
    await call('GET', '/webhook/endpoints'),
    await call('GET', at(id)),
    await call('GET', '/incidents'),
    await call('PATCH', at(id), { enabled: true }),
  ];
  await call('DELETE', at(id));
  const rows = await db.query(sql`select encode(secret, 'escape') as secret,
    webhook_endpoints::text as row from webhook_endpoints`);
  const told = audited.map(({ request: _request, ...entry }) => entry);
  expect(told).toHaveLength(7);
  const everything = JSON.stringify([lists, told, rows]) + logged.join('');
  for (const secret of [given, made, rotated]) {
    expect(everything).not.toContain(secret.slice(6, 30));
  }
  expect(everything).not.toContain('a-token-of-the-receiver');
});

test('a write is audited with what its endpoint was and has become', async () => {
  const { id } = await make();
  await call('PATCH', at(id), { enabled: false });
  await call('PATCH', at(id), { enabled: true });
  const ping = await call('POST', at(id, '/ping'));
  await call('DELETE', at(id));
  const ofEndpoint = { target: id, tenant: 'T', actor: { name: 'test' } };
  expect(audited).toMatchObject([
    { ...ofEndpoint, after: { id, enabled: true } },
    { ...ofEndpoint, before: { enabled: true }, after: { enabled: false } },
    { ...ofEndpoint, before: { enabled: false }, after: { enabled: true } },
    { ...ofEndpoint, after: { delivery_id: ping.json.id } },
    { ...ofEndpoint, before: { id }, after: { discarded: 1 } },
  ]);
});

test('a refused write is not audited', async () => {
  const { id } = await make({ enabled: false });
  audited = [];
  await call('POST', at(id, '/ping'));
  await call('PATCH', at(id), { url: 'http://10.0.0.1/' });
  await call('DELETE', at(`ep_${'0'.repeat(16)}`));
  expect(audited).toEqual([]);
});

test('a change wakes the drainers', async () => {
  const { id } = await make({ enabled: false });
  await call('PATCH', at(id), { rate_limit: 5 });
  expect(woken).toEqual([]);
  await call('PATCH', at(id), { enabled: true });
  expect(woken).toEqual([id]);
  await call('PATCH', at(id), { rate_limit: null });
  expect(woken).toEqual([id, id]);
});

test('answers 409 to a ping of a disabled endpoint, and makes nothing', async () => {
  const { id } = await make({ tenant: 'silent', enabled: false });
  const answer = await call('POST', at(id, '/ping'));
  expect(answer.json).toMatchObject({ status: 409, code: 'endpoint_disabled' });
  expect((await call('GET', '/incidents?tenant=silent')).json.data).toEqual([]);
  expect(woken).toEqual([]);
});

test('a ping is one delivery to this endpoint alone, whatever its event types', async () => {
  const receiver = await startReceiver({ behave: () => respond(200, { body: 'pong' }) });
  const url = receiver.url();
  const { id } = await make({ tenant: 'pinged', url, event_types: ['a.b'], max_attempts: 2 });
  await make({ tenant: 'pinged' });
  const answer = await call('POST', at(id, '/ping'));
  expect(answer.status).toBe(202);
  expect(answer.json).toEqual({
    id: expect.stringMatching(/^dlv_[0-9A-Za-z]{20}$/),
    endpoint_id: id,
    idempotency_key: expect.stringMatching(/^msg_/),
    status: 'delivered',
    outcome: {
      status: 200,
      failure_class: null,
      error: null,
      duration_ms: expect.any(Number),
      response: 'pong',
    },
  });
  expect(receiver.requests).toHaveLength(1);
  // Lane and second, as in every other delivery's id.
  const likeness = newDeliveryId(laneOf(id), nowMillis).slice(0, 13);
  expect(answer.json.id.slice(0, 13)).toBe(likeness);
  await receiver.close();
  expect(woken).toEqual([]);
  const [row] = await db.query(sql`
    select body, max_attempts from deliveries join incidents on incidents.id = incident_id
    where incidents.tenant = 'pinged'`);
  expect(row).toEqual({
    body: `{"type":"webhook.ping","timestamp":"2026-03-05T14:07:09.000000Z","data":{"endpoint_id":"${id}"}}`,
    max_attempts: 2,
  });
});

test('headers go with each request; those meant for another host stay behind', async () => {
  const [one, other] = [await startReceiver(), await startReceiver()];
  const headers = { Authorization: 'Bearer a', 'X-Key': 'k' };
  const { id, header_names } = await make({ url: one.url(), headers });
  expect(header_names).toEqual(['Authorization', 'X-Key']);
  const sent = async (receiver: typeof one) => {
    await call('POST', at(id, '/ping'));
    const {
      authorization,
      'x-key': key,
      'webhook-signature': signature,
    } = receiver.requests.at(-1)?.headers ?? {};
    expect(signature).toMatch(/^v1,/);
    return [authorization, key];
  };
  expect(await sent(one)).toEqual(['Bearer a', 'k']);
  await call('PATCH', at(id), { url: `${one.url()}?v=2`, headers: { authorization: 'Bearer b' } });
  expect(await sent(one)).toEqual(['Bearer b', 'k']);
  await call('PATCH', at(id), { headers: { 'X-KEY': null }, description: 'x' });
  expect(await sent(one)).toEqual(['Bearer b', undefined]);
  const moved = await call('PATCH', at(id), { url: other.url(), headers: { 'X-Key': 'new' } });
  expect(moved.json.header_names).toEqual(['X-Key']);
  expect(moved.json.warnings).toEqual([expect.stringMatching(/^authorization: not sent/)]);
  expect(await sent(other)).toEqual([undefined, 'new']);
  await call('PATCH', at(id), { headers: null });
  expect(await sent(other)).toEqual([undefined, undefined]);
  await Promise.all([one.close(), other.close()]);
});

test('nothing is sent without headers that no key opens; setting them again is the way out', async () => {
  const receiver = await startReceiver();
  const { id } = await make({ url: receiver.url(), headers: { 'X-A': 'a', 'X-B': 'b' } });
  const lost = createSecretBox(ringOf(2)).seal('{}', id);
  await db.query(sql`update webhook_endpoints set headers = ${lost} where id = ${id}`);
  const failed = await call('POST', at(id, '/ping'));
  expect(failed.json.outcome).toMatchObject({
    failure_class: 'unsendable',
    error: 'The headers of the endpoint cannot be decrypted. Set them again.',
  });
  expect(receiver.requests).toHaveLength(0);
  const { json } = await call('PATCH', at(id), { headers: { 'X-A': 'c' } });
  expect(json.header_names).toEqual(['X-A']);
  await call('POST', at(id, '/ping'));
  expect(receiver.requests.at(-1)?.headers).toMatchObject({ 'x-a': 'c' });
  await receiver.close();
});

test('a ping goes past an open breaker, a rate and a backlog, which stay, and tells why it failed', async () => {
  const receiver = await startReceiver({ behave: () => respond(500, { body: 'broken' }) });
  const { id } = await make({ tenant: 'paused', url: receiver.url(), rate_limit: 1 });
  await addDeliveries(id, ['queued', 'queued']);
  await db.query(sql`
    update webhook_endpoints set failures_in_row = 20, pauses_in_row = 1,
      paused_until = now() + interval '1 hour' where id = ${id}`);
  const { breaker } = (await call('GET', at(id))).json;
  const { json } = await call('POST', at(id, '/ping'));
  expect(json).toMatchObject({
    status: 'pending',
    outcome: { status: 500, failure_class: 'status', response: 'broken' },
  });
  expect(json.outcome.error).toBe('500 Internal Server Error');
  expect(receiver.requests).toHaveLength(1);
  expect((await call('GET', at(id))).json.breaker).toEqual(breaker);
  const [row] = await db.query(sql`
    select status, attempts, lease from deliveries where id = ${json.id}`);
  expect(row).toEqual({ status: 'pending', attempts: 1, lease: null });
  await receiver.close();
});

test('deleting an endpoint discards what is live of it, and leaves its history', async () => {
  const { id } = await make();
  const other = await make();
  await addDeliveries(id, ['queued', 'pending', 'abandoned', 'delivered', 'discarded']);
  await addDeliveries(other.id, ['queued', 'pending']);
  expect((await call('DELETE', at(id))).status).toBe(204);
  expect(await countStatuses(db, id)).toEqual({ delivered: 1, discarded: 4 });
  expect(await countStatuses(db, other.id)).toEqual({ queued: 1, pending: 1 });
  const [left] = await db.query(sql`
    select coalesce(sum(count), 0)::int as count from dead_letter_counts where endpoint_id = ${id}`);
  expect(left).toEqual({ count: 0 });
  expect(audited.at(-1)?.after).toEqual({ discarded: 3 });
  expect(pokes).toEqual([]);
  expect((await call('DELETE', at(id))).json.code).toBe('endpoint_not_found');
});

test('an endpoint deleted twice at once is deleted once', async () => {
  const { id } = await make();
  const answers = await Promise.all(Array.from({ length: 8 }, () => call('DELETE', at(id))));
  const statuses = answers.map((answer) => answer.status).sort((a, b) => a - b);
  expect(statuses).toEqual([204, ...Array(7).fill(404)]);
  expect(audited.filter((entry) => entry.action === 'endpoint.delete')).toHaveLength(1);
});

test('what is seldom meant is told: an unknown event type, a second endpoint of the same URL', async () => {
  const body = { tenant: 'TWIN', url: 'http://127.0.0.1:9/twin' };
  const first = (await call('POST', '/webhook/endpoints', body)).json;
  expect(first.warnings).toEqual([]);
  const types = ['incident.created', 'incident.craeted'];
  const second = (await call('POST', '/webhook/endpoints', { ...body, event_types: types })).json;
  expect(second.warnings).toEqual([
    expect.stringMatching(/^incident\.craeted \(did you mean incident\.created\?\): not among /),
    expect.stringContaining(`${first.id} of the same tenant has the same URL`),
  ]);
  const changed = (await call('PATCH', at(second.id), { event_types: ['*'] })).json;
  expect(changed.warnings).toEqual([expect.stringContaining(first.id)]);
});

test('of more than 5,000 live deliveries the rest is left to a job', async () => {
  const { id } = await make();
  await addDeliveries(id, ['queued', 'abandoned', 'pending'], 1700);
  expect((await call('DELETE', at(id))).status).toBe(204);
  const after = await countStatuses(db, id);
  expect(after.discarded).toBe(5000);
  const jobs = await db.query(sql`
    select action, state, status, tenant, reach, rate, rows_total, rows_done, created_by
    from dead_letter_jobs where endpoint_id = ${id}`);
  expect(jobs).toEqual([
    {
      action: 'discard',
      state: 'running',
      status: null,
      tenant: null,
      reach: null,
      rate: null,
      rows_total: 5000,
      rows_done: 5000,
      created_by: 'test',
    },
  ]);
  expect(pokes).toEqual([1]);
  expect(audited.at(-1)?.after).toEqual({ job: expect.any(String), discarded: 5000 });
});

test('a uid names one endpoint of a tenant, until that is deleted', async () => {
  const body = { tenant: 'uids', url: 'https://127.0.0.1/in', uid: 'pager' };
  const called = { name: 'Pager', labels: { team: 'soc' } };
  const make = (more: object = {}) =>
    call('POST', '/webhook/endpoints', { ...body, ...called, ...more });
  const { json: first } = await make();
  expect(first).toMatchObject({ uid: 'pager', ...called });
  expect(await make()).toMatchObject({ status: 409, json: { code: 'endpoint_uid_taken' } });
  expect((await make({ tenant: 'others' })).status).toBe(201);
  const { json: second } = await make({ uid: 'other' });
  const path = `/webhook/endpoints/${second.id}`;
  expect((await call('PATCH', path, { uid: 'pager' })).status).toBe(409);
  expect((await call('PATCH', path, { uid: 'a b' })).status).toBe(400);
  expect((await call('PATCH', path, { labels: { 'a b': 'c' } })).status).toBe(400);
  const changed = await call('PATCH', path, { uid: null, name: null, labels: {} });
  expect(changed.json).toMatchObject({ uid: null, name: null, labels: {} });
  await call('DELETE', `/webhook/endpoints/${first.id}`);
  const racing = await Promise.all([make(), make(), make()]);
  expect(racing.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
});

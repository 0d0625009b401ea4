import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { useTestService } from '../../../test/service.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import type { DeliveryRow } from '../contract.ts';
import { laneOf } from '../lanes.ts';
import {
  type SeededEndpoint,
  seedBody,
  seedDeliveries,
  seedDelivery,
  seedEndpoint,
} from './testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api' });
let alpha: SeededEndpoint;
let beta: SeededEndpoint;
let betaToken: string;
beforeAll(async () => {
  alpha = await seedEndpoint(service.db, { tenant: 'A' });
  beta = await seedEndpoint(service.db, { tenant: 'B' });
  ({ token: betaToken } = await service.makeToken({ preset: 'admin', tenants: ['B', 'C'] }));
  await seedDeliveries(service.db, alpha, 30, { status: 'abandoned', secondsAgo: 100 });
  await seedDeliveries(service.db, alpha, 7, {
    status: 'pending',
    failureClass: 'timeout_headers',
    error: 'no answer within 15 s: 100%_sure',
  });
  await seedDeliveries(service.db, beta, 5, { status: 'abandoned', secondsAgo: 110.5 });
  await seedDeliveries(service.db, beta, 3, {
    status: 'abandoned',
    failureClass: 'dns',
    target: 'https://Gone.Example/Hook',
    secondsAgo: 10,
  });
  await seedDelivery(service.db, beta, { status: 'delivered', secondsAgo: 5 });
  await seedDelivery(service.db, beta, { status: 'queued', secondsAgo: 4 });
});

const get = async (path: string, token?: string) =>
  service.call('GET', path, token === undefined ? {} : { token });
const rowsOf = async (path: string, token?: string) => {
  const answer = await get(path, token);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { data: DeliveryRow[]; next_cursor: string | null; total: number | null };
};

const newestFirst = (times: readonly (string | null)[]) =>
  times.toSorted((a, b) => ((a ?? '') < (b ?? '') ? 1 : -1));

const walk = (path: string, limit: number, token?: string): Promise<DeliveryRow[]> =>
  service.all(`${path}&limit=${limit}`, token);

test('a status is required and must be one of the queue', async () => {
  for (const query of [
    '',
    '?status=delivered',
    '?status=queued',
    '?status=pending&limit=201',
    '?status=pending&x=1',
  ]) {
    expect((await get(`/webhook/dlq${query}`)).json).toMatchObject({
      status: 400,
      code: 'request_invalid',
    });
    expect((await get(`/webhook/dlq/groups${query.replace('201', '501')}`)).status).toBe(400);
  }
});

test('a cursor goes only with the filters it came from', async () => {
  const { next_cursor } = await rowsOf('/webhook/dlq?status=abandoned&limit=2');
  const other = await get(`/webhook/dlq?status=pending&cursor=${next_cursor}`);
  expect(other.json).toMatchObject({ status: 400, code: 'cursor_invalid' });
  const history = await get(`/webhook/deliveries?cursor=${next_cursor}`);
  expect(history.json.code).toBe('cursor_invalid');
});

test('the queue shows the newest failure first, each row once over all pages, and their total', async () => {
  const whole = await rowsOf('/webhook/dlq?status=abandoned');
  expect(whole).toMatchObject({ total: 38, next_cursor: null });
  const times = whole.data.map((row) => row.last_attempt_at);
  expect(times).toEqual(newestFirst(times));
  expect(new Set(whole.data.map((row) => row.status))).toEqual(new Set(['abandoned']));
  expect(await walk('/webhook/dlq?status=abandoned', 7)).toEqual(whole.data);
});

test('a page has no more rows than its total, whatever is delivered between them', async () => {
  const endpoint = await seedEndpoint(service.db, { tenant: 'C' });
  await seedDeliveries(service.db, endpoint, 2, { status: 'abandoned' });
  const asked = await service.db.transaction(async (holder) => {
    await holder.query(sql`lock table dead_letter_counts in access exclusive mode`);
    // In an object of its own, so that the transaction does not wait for it.
    const answer = { page: rowsOf('/webhook/dlq?status=abandoned&tenant=C') };
    await untilLockWaits(service.db, 1);
    await holder.query(sql`delete from deliveries where endpoint_id = ${endpoint.id}`);
    await holder.query(sql`delete from dead_letter_counts where endpoint_id = ${endpoint.id}`);
    return answer;
  });
  const { data, total } = await asked.page;
  expect(total).toBe(data.length);
});

test('a row has the fields of the contract', async () => {
  const { data } = await rowsOf(`/webhook/dlq?status=pending&limit=1`);
  expect(data[0]).toMatchObject({
    id: expect.stringMatching(/^dlv_/),
    idempotency_key: expect.any(String),
    target: 'https://receiver.example/hook',
    attempts: 1,
    max_attempts: 8,
    last_status: 500,
    next_retry: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/),
    failure_class: 'timeout_headers',
    tenant: 'A',
    endpoint_id: alpha.id,
    finished_at: null,
  });
  expect((await rowsOf('/webhook/dlq?status=abandoned&limit=1')).data[0]?.next_retry).toBeNull();
});

test.each([
  ['tenant=B', 8],
  ['tenant=nobody', 0],
  ['tenant=A&failure_class=status', 30],
  ['failure_class=dns', 3],
  ['failure_class=tls', 0],
])('the filter %s finds %i rows on pages and in the total', async (filter, count) => {
  const path = `/webhook/dlq?status=abandoned&${filter}`;
  expect((await rowsOf(path)).total).toBe(count);
  expect(await walk(path, 4)).toHaveLength(count);
});

test('an endpoint is found with its own tenant and not with another', async () => {
  const path = `/webhook/dlq?status=abandoned&endpoint_id=${beta.id}`;
  expect((await rowsOf(path)).total).toBe(8);
  expect((await rowsOf(`${path}&tenant=B`)).total).toBe(8);
  expect(await rowsOf(`${path}&tenant=A`)).toEqual({ data: [], next_cursor: null, total: 0 });
});

test('q finds parts of target and error and beginnings of id and key, without a total', async () => {
  const find = async (q: string, status = 'abandoned') =>
    rowsOf(`/webhook/dlq?status=${status}&q=${encodeURIComponent(q)}`);
  expect((await find('gone.example')).data).toHaveLength(3);
  expect((await find('ANSWERED 500')).data).toHaveLength(38);
  expect((await find('100%_SURE', 'pending')).data).toHaveLength(7);
  // The tests' server folds I as Turkish does.
  expect((await find('WITHIN 15', 'pending')).data).toHaveLength(7);
  expect((await find('100__sure', 'pending')).data).toHaveLength(0);
  const [row] = (await find('gone.example')).data;
  expect((await find(row?.id ?? '')).data).toEqual([row]);
  expect((await find(row?.idempotency_key?.slice(0, 20) ?? '')).data).toContainEqual(row);
  expect((await find(row?.id?.slice(1) ?? '')).data).toEqual([]);
  expect((await find('gone')).total).toBeNull();
  expect((await get('/webhook/dlq?status=pending&q=%00')).status).toBe(400);
});

test('a token limited to tenants sees only theirs, in order and in the total', async () => {
  const path = '/webhook/dlq?status=abandoned';
  const all = await walk(path, 3, betaToken);
  expect(all.map((row) => row.tenant)).toEqual(Array(8).fill('B'));
  expect((await rowsOf(path, betaToken)).total).toBe(8);
  const gamma = await seedEndpoint(service.db, { tenant: 'C' });
  await seedDeliveries(service.db, gamma, 4, { secondsAgo: 12.25 });
  const merged = await walk(path, 3, betaToken);
  const times = merged.map((row) => row.last_attempt_at);
  expect(times).toEqual(newestFirst(times));
  expect(merged).toHaveLength(12);
  const groups = (await rowsOf('/webhook/dlq/groups?status=abandoned', betaToken)).data;
  expect(new Set(groups.map((group) => group.tenant))).toEqual(new Set(['B', 'C']));
  await service.db.query(sql`delete from deliveries where tenant = 'C'`);
  await service.db.query(sql`delete from dead_letter_counts where tenant = 'C'`);
});

test('groups are endpoints by failure class, the largest first, with first, last and newest error', async () => {
  await seedDelivery(service.db, alpha, {
    error: 'the newest',
    target: 'https://new.example/',
    secondsAgo: 1,
  });
  const { data } = await rowsOf('/webhook/dlq/groups?status=abandoned');
  expect(data).toMatchObject([
    { endpoint_id: alpha.id, tenant: 'A', failure_class: 'status', count: 31, error: 'the newest' },
    { endpoint_id: beta.id, failure_class: 'status', count: 5 },
    { endpoint_id: beta.id, failure_class: 'dns', count: 3, target: 'https://Gone.Example/Hook' },
  ]);
  const rows = (await rowsOf(`/webhook/dlq?status=abandoned&endpoint_id=${alpha.id}`)).data;
  expect(data[0]).toMatchObject({
    target: 'https://new.example/',
    last_seen: rows[0]?.last_attempt_at,
    first_seen: rows.at(-1)?.last_attempt_at,
  });
  expect((await rowsOf('/webhook/dlq/groups?status=abandoned&limit=1')).data).toHaveLength(1);
  expect((await rowsOf('/webhook/dlq/groups?status=pending&tenant=B')).data).toEqual([]);
});

test('a group whose rows are gone does not show', async () => {
  await service.db.query(sql`
    insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    values (${beta.id}, 'pending', 'reset', 'B', 0)`);
  expect((await rowsOf(`/webhook/dlq/groups?status=pending&endpoint_id=${beta.id}`)).data).toEqual(
    [],
  );
});

test('the history has deliveries in every state, newest first', async () => {
  const all = await walk('/webhook/deliveries?', 11);
  const times = all.map((row) => row.created_at);
  expect(times).toEqual(newestFirst(times));
  expect(new Set(all.map((row) => row.id)).size).toBe(all.length);
  expect(new Set(all.map((row) => row.status))).toEqual(
    new Set(['abandoned', 'delivered', 'pending', 'queued']),
  );
  const ofBeta = await walk('/webhook/deliveries?', 3, betaToken);
  expect(ofBeta).toHaveLength(10);
});

test('the history is filtered by status, tenant, endpoint and incident', async () => {
  const count = async (query: string, token?: string) =>
    (await walk(`/webhook/deliveries?${query}`, 4, token)).length;
  expect(await count('status=delivered')).toBe(1);
  expect(await count('status=pending')).toBe(7);
  expect(await count('status=pending&tenant=B')).toBe(0);
  expect(await count('tenant=B')).toBe(10);
  expect(await count(`endpoint_id=${beta.id}&status=abandoned`)).toBe(8);
  const id = await seedDelivery(service.db, alpha, { incidentId: 'inc_one', status: 'queued' });
  const [row] = await walk('/webhook/deliveries?incident_id=inc_one', 5);
  expect(row).toMatchObject({ id, incident_id: 'inc_one', status: 'queued' });
  expect(await count('incident_id=inc_one&status=delivered')).toBe(0);
  expect(await count('incident_id=inc_one', betaToken)).toBe(0);
  expect((await get('/webhook/deliveries?status=lost')).status).toBe(400);
});

test('a page looks at 10,000 rows at most, and the next one reads on', async () => {
  const wide = await seedEndpoint(service.db, { tenant: 'wide' });
  await seedDeliveries(service.db, wide, 10_020, { secondsAgo: 10 });
  const rare = await seedDelivery(service.db, wide, { failureClass: 'tls', secondsAgo: 99_999 });
  const path = '/webhook/dlq?status=abandoned&tenant=wide&failure_class=tls';
  const first = await rowsOf(path);
  expect(first).toMatchObject({ data: [], next_cursor: expect.any(String), total: 1 });
  const second = await rowsOf(`${path}&cursor=${first.next_cursor}`);
  expect(second).toMatchObject({ data: [{ id: rare }], next_cursor: null });
});

const show = (id: string) => get(`/webhook/dlq/${id}`);

test.each(['nonsense', 'dlv_99aaaaaaaaaaaaaaaaaa', `dlv_${'0'.repeat(19)}!`])(
  'the id %s answers 404',
  async (id) => {
    expect((await show(id)).json).toMatchObject({ status: 404, code: 'delivery_not_found' });
  },
);

test('a delivery shows its payload, what is sent, and its attempts, the newest first', async () => {
  const endpoint = await seedEndpoint(service.db);
  const id = await seedDelivery(service.db, endpoint);
  await service.db.query(sql`
    insert into delivery_attempts (lane, delivery_id, number, started_at, duration_ms, target, status, failure_class, error, response)
    select ${laneOf(endpoint.id)}, ${id}, n, '2026-03-05T14:07:09.5Z', n, 'https://r.example/', 500, 'status',
      'the receiver answered 500', case when n = 101 then ${Buffer.from([0x61, 0xff, 0x00, 0x62])}::bytea end
    from generate_series(1, 101) n`);
  const { json } = await show(id);
  expect(json).toMatchObject({
    id,
    status: 'abandoned',
    payload: { type: 'incident.created', data: { n: 1 } },
    body: seedBody,
    waiting: { reason: 'parked', until: null },
  });
  expect(json.attempt_log).toHaveLength(100);
  expect(json.attempt_log[0]).toEqual({
    number: 101,
    started_at: '2026-03-05T14:07:09.500000Z',
    duration_ms: 101,
    target: 'https://r.example/',
    status: 500,
    failure_class: 'status',
    error: 'the receiver answered 500',
    response: 'a\ufffd\u0000b',
    response_bytes: expect.any(Number),
  });
  expect(json.attempt_log[1]).toMatchObject({ number: 100, response: null });
  const listed = await service.call('GET', `/webhook/dlq?status=abandoned&q=${id}`);
  expect(Object.keys(json).sort()).toEqual(
    [
      ...Object.keys(listed.json.data[0]),
      'attempt_log',
      'body',
      'payload',
      'payload_erased_at',
      'request_id',
      'waiting',
    ].sort(),
  );
});

test('why it waits is read from its endpoint, its lease and its schedule', async () => {
  const open = await seedEndpoint(service.db);
  const paused = await seedEndpoint(service.db, { pausedSeconds: 600 });
  const isOver = await seedEndpoint(service.db, { pausedSeconds: -1 });
  const reasonOf = async (id: string) => (await show(id)).json.waiting?.reason ?? null;
  const seed = (
    ...args: Parameters<typeof seedDelivery> extends [unknown, ...infer R] ? R : never
  ) => seedDelivery(service.db, ...args).then(reasonOf);
  expect(await seed(open, { status: 'delivered' })).toBeNull();
  expect(await seed(await seedEndpoint(service.db, { enabled: false }), {})).toBe('disabled');
  expect(
    await seed(await seedEndpoint(service.db, { isDeleted: true }), { status: 'queued' }),
  ).toBe('disabled');
  expect(await seed(open, { status: 'pending', leasedSeconds: 30 })).toBe('in_flight');
  expect(await seed(open, { status: 'pending', leasedSeconds: -30 })).toBe('schedule');
  expect(await seed(open, { status: 'pending', heldBy: 'retry_after' })).toBe('retry_after');
  expect(await seed(paused, { status: 'pending' })).toBe('breaker');
  expect(await seed(paused, { status: 'queued', isProbe: true })).toBe('no_drainer');
  expect(await seed(isOver, { status: 'pending', dueInSeconds: -5 })).toBe('no_drainer');
});

test('a row says until when its endpoint is paused, unless it passes the pause', async () => {
  const paused = await seedEndpoint(service.db, { pausedSeconds: 600 });
  const isOver = await seedEndpoint(service.db, { pausedSeconds: -1 });
  const seed = async (...[endpoint, row]: [typeof paused, Parameters<typeof seedDelivery>[2]]) =>
    (await show(await seedDelivery(service.db, endpoint, row))).json.paused_until;
  const until = await seed(paused, { status: 'pending' });
  expect(Date.parse(until)).toBeGreaterThan(Date.now());
  expect(await seed(paused, { status: 'queued', isProbe: true })).toBeNull();
  expect(await seed(paused, { status: 'abandoned' })).toBeNull();
  expect(await seed(isOver, { status: 'pending' })).toBeNull();
});

test('what is due says whether a drainer runs', async () => {
  const rated = await seedEndpoint(service.db, { rateLimit: 7 });
  const id = await seedDelivery(service.db, rated, { status: 'queued' });
  const due = await seedDelivery(service.db, await seedEndpoint(service.db), { status: 'queued' });
  await service.db.withConnection(async (drainer) => {
    await drainer.query(sql`select pg_advisory_lock(${advisoryLocks.lanes}, 3)`);
    expect((await show(id)).json.waiting).toMatchObject({ reason: 'rate', until: null });
    expect((await show(due)).json.waiting.reason).toBe('due');
    await drainer.query(sql`select pg_advisory_unlock(${advisoryLocks.lanes}, 3)`);
  });
  expect((await show(id)).json.waiting.reason).toBe('no_drainer');
});

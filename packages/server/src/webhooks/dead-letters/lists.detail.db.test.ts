import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { laneOf } from '../lanes.ts';
import { seedBody, seedDelivery, seedEndpoint } from './testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api' });

const show = (id: string, token?: string | null) =>
  service.call('GET', `/webhook/dlq/${id}`, token === undefined ? {} : { token });

test('a malformed, an unknown and a foreign id answer the same 404', async () => {
  const endpoint = await seedEndpoint(service.db);
  const id = await seedDelivery(service.db, endpoint);
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['other'] });
  const { request_id: _, ...foreign } = (await show(id, token)).json;
  expect(foreign).toMatchObject({ status: 404, code: 'delivery_not_found' });
  for (const other of [
    'nonsense',
    'dlv_99aaaaaaaaaaaaaaaaaa',
    `${id.slice(0, -1)}!`,
    `${id.slice(0, -3)}zzz`,
  ]) {
    expect((await show(other)).json).toMatchObject(foreign);
  }
});

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

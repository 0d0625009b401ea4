import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { blocksOf } from '../../../test/one-server.ts';
import { useTestService } from '../../../test/service.ts';
import { previewBulk } from './bulk-jobs.ts';
import {
  clearQueue,
  countStatuses,
  findWrongCounts,
  makeBulkJob,
  type SeededEndpoint,
  seedDeliveries,
  seedDelivery,
  seedEndpoint,
} from './testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api' });
let one: SeededEndpoint;
let held: SeededEndpoint;
beforeEach(async () => {
  await clearQueue(service.db);
  await service.db.query(sql`delete from delivery_attempts`);
  await service.db.query(sql`delete from webhook_endpoints`);
  one = await seedEndpoint(service.db, { tenant: 'A' });
  held = await seedEndpoint(service.db, { tenant: 'H' });
  await service.call('PUT', '/retention/policies/H', { body: { hot_days: 30, hold: true } });
});
afterEach(async () => expect(await findWrongCounts(service.db)).toEqual([]));

const ask = (action: 'retry' | 'purge', body: object) =>
  service.call('POST', `/webhook/dlq/${action}`, { body });
const getJob = async (id: string) => (await service.call('GET', `/webhook/dlq/jobs/${id}`)).json;
const ended = async (id: string) => {
  await expect.poll(async () => (await getJob(id)).state, { timeout: 60_000 }).toBe('completed');
  return getJob(id);
};
const logAttempt = (id: string) =>
  service.db.query(sql`
    insert into delivery_attempts (lane, delivery_id, number, started_at, duration_ms, target, failure_class, response)
    select lane, id, 1, now(), 5, target, 'status', 'a person' from deliveries where id = ${id}`);
const readRow = async (id: string) => {
  const [row] = await service.db.query(sql`
    select d.status, d.job_id, d.next_attempt_at, a.response, a.response_bytes, i.erased_at is not null as is_erased
    from deliveries d join incidents i on i.id = d.incident_id
      left join delivery_attempts a on a.lane = d.lane and a.delivery_id = d.id
    where d.id = ${id}`);
  return row;
};

test('a purge in bulk takes of each row what a purge of one takes, and says in the log who asked and how many', async () => {
  const [dead, spared] = [
    await seedDelivery(service.db, one, { incidentId: 'inc_needed' }),
    await seedDelivery(service.db, one, { incidentId: 'inc_needed', status: 'queued' }),
  ];
  const alone = await seedDelivery(service.db, one, { status: 'pending', leasedSeconds: 60 });
  for (const id of [dead, alone]) await logAttempt(id);
  const { status, json: job } = await ask('purge', { tenant: 'A' });
  expect(status).toBe(202);
  expect(job).toMatchObject({ action: 'purge', rows_total: 2 });
  expect(await ended(job.id)).toMatchObject({ rows_done: 2, rows_skipped: 0, rows_left: 0 });
  const gone = { status: 'discarded', job_id: job.id, next_attempt_at: null };
  const erased = { response: null, response_bytes: 8 };
  expect(await readRow(dead)).toEqual({ ...gone, ...erased, is_erased: false });
  expect(await readRow(alone)).toEqual({ ...gone, ...erased, is_erased: true });
  expect(await readRow(spared)).toMatchObject({ status: 'queued', job_id: null, is_erased: false });
  const entries = (await service.all('/audit')).filter((entry) => entry.target === job.id);
  expect(entries.map(({ action, actor, after }) => ({ action, actor, after }))).toMatchObject([
    { action: 'purge_job.end', actor: { name: 'svcctl' }, after: { job: job.id, discarded: 2 } },
    { action: 'purge_job.create', after: { id: job.id, rows_total: 2 } },
  ]);
});

test('what a tenant has under legal hold is left alone, and a purge of that tenant is refused', async () => {
  const [row] = await seedDeliveries(service.db, held, 3);
  expect(await service.call('DELETE', `/webhook/dlq/${row}`)).toMatchObject({
    status: 409,
    json: { code: 'tenant_on_hold' },
  });
  await seedDeliveries(service.db, one, 2);
  expect(await ask('purge', { tenant: 'H' })).toMatchObject({
    status: 409,
    json: { code: 'tenant_on_hold' },
  });
  const preview = { count: 2, skipped: 3 };
  expect((await ask('purge', { dry_run: true })).json).toMatchObject(preview);
  const { json: job } = await ask('purge', {});
  expect(await ended(job.id)).toMatchObject({ rows_total: 5, rows_done: 2, rows_skipped: 3 });
  expect(await countStatuses(service.db, held.id)).toEqual({ abandoned: 3 });
});

test('a purge finds by age and type of event what its preview counts', async () => {
  const typed = async (type: string, secondsAgo: number) => {
    const id = await seedDelivery(service.db, one, { secondsAgo });
    await service.db.query(sql`update deliveries set event_type = ${type} where id = ${id}`);
    return id;
  };
  const days = (count: number) => count * 86_400;
  await typed('incident.created', days(40));
  await typed('incident.closed', days(31));
  await typed('incidents.created', days(40));
  await typed('incident.created', days(29));
  const body = { event_type: 'incident.*', older_than: '30d' };
  for (const [event_type, count] of Object.entries({ 'incident.*': 2, 'incident.': 2, '*': 3 })) {
    const asked = { ...body, event_type, dry_run: true };
    expect((await ask('purge', asked)).json, event_type).toMatchObject({ count });
  }
  const { json: job } = await ask('purge', body);
  expect(await ended(job.id)).toMatchObject({
    event_type: 'incident.*',
    rows_total: 2,
    rows_done: 2,
  });
  const listed = await service.call('GET', `/jobs/${job.id}`);
  expect(listed.json.summary).toContain(' with events incident.*.');
  expect(listed.json.started_at).toBe(job.created_at);
  expect(await countStatuses(service.db, one.id)).toEqual({ discarded: 2, abandoned: 2 });
  const again = await ask('retry', { event_type: 'incident.created' });
  expect(await ended(again.json.id)).toMatchObject({ rows_total: 1, rows_done: 1 });
});

test('how old a row is, the database says, whatever the clock of the process', async () => {
  await seedDelivery(service.db, one, { secondsAgo: 86_400 });
  const realNow = Date.now;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + 7_200_000);
  const { json } = await ask('purge', { older_than: '25h', dry_run: true }).finally(() =>
    clock.mockRestore(),
  );
  expect(json).toMatchObject({ count: 0 });
});

test.each([
  [{ older_than: '30d', failed_to: '2026-01-01T00:00:00Z' }, '/older_than'],
  [{ older_than: '30d', failed_from: new Date().toISOString() }, '/older_than'],
  [{ older_than: '30 days' }, '/older_than'],
  [{ event_type: '' }, '/event_type'],
  [{ event_type: 'inc*' }, '/event_type'],
])('%j is refused and purges nothing', async (body, path) => {
  await seedDeliveries(service.db, one, 2, { secondsAgo: 86_400 * 40 });
  const { status, json } = await ask('purge', body);
  expect({ status, path: json.errors?.[0]?.path }).toEqual({ status: 400, path });
  expect(await countStatuses(service.db, one.id)).toEqual({ abandoned: 2 });
});

test('a purge is changed and listed as one, and is none to the routes of retries', async () => {
  await seedDeliveries(service.db, one, 40);
  const { json: job } = await ask('purge', { rate: 1 });
  const path = `/webhook/dlq/jobs/${job.id}`;
  const paused = await service.call('PATCH', path, { body: { state: 'paused' } });
  expect(paused.json).toMatchObject({ state: 'paused', rate: 1 });
  const foreign = await service.call('GET', `/webhook/dlq/retries/${job.id}`);
  expect(foreign.json.code).toBe('retry_job_not_found');
  expect(await service.all('/webhook/dlq/retries')).toEqual([]);
  const listed = await service.all('/jobs?kind=purge');
  expect(listed).toMatchObject([
    { id: job.id, state: 'paused', summary: expect.stringContaining('Discards the failed') },
  ]);
  await service.call('POST', `/jobs/${job.id}/cancel`);
  expect((await getJob(job.id)).state).toBe('cancelled');
  const late = await service.call('PATCH', path, { body: { state: 'running' } });
  expect(late.json).toMatchObject({ code: 'job_finished' });
});

test('who discards nothing stops a purge, and neither resumes nor hastens it', async () => {
  await seedDeliveries(service.db, one, 40);
  const { json: job } = await ask('purge', { rate: 1 });
  const { token } = await service.makeToken({ preset: 'on-call' });
  const change = (body: object) =>
    service.call('PATCH', `/webhook/dlq/jobs/${job.id}`, { token, body });
  expect((await change({ rate: 1000 })).json.code).toBe('scope_missing');
  expect((await change({ state: 'paused' })).json).toMatchObject({ state: 'paused', rate: 1 });
  expect((await change({ state: 'running' })).json.code).toBe('scope_missing');
  expect((await change({ state: 'paused', rate: 9 })).json.code).toBe('scope_missing');
  expect(await getJob(job.id)).toMatchObject({ state: 'paused', rate: 1 });
  await service.call('DELETE', `/webhook/dlq/jobs/${job.id}`, { token });
  expect((await getJob(job.id)).state).toBe('cancelled');
});

test('the previous release is told to wait for what it cannot do, and for nothing else', async () => {
  const readyOf = async (id: string) => {
    const [row] = await service.db.query<{ ready: boolean; due: boolean }>(sql`
      select coalesce((position ->> 'ready_at')::timestamptz <= clock_timestamp(), true) as ready,
        coalesce(due_at <= clock_timestamp(), true) as due
      from dead_letter_jobs where id = ${id}`);
    return row;
  };
  for (const [id, more, ready] of [
    ['rty_old', {}, true],
    ['rty_typed', { event_type: 'a.b' }, false],
    ['prg_new', { action: 'purge' }, false],
  ] as const) {
    await service.db.transaction(async (connection) => {
      await makeBulkJob(connection, id, more);
      await connection.query(sql`update dead_letter_jobs set state = 'paused' where id = ${id}`);
    });
    expect({ id, ...(await readyOf(id)) }).toEqual({ id, ready, due: true });
  }
});

test.each(['before', 'after'])(
  'a preview of a range in which all of a group failed reads its counter, %s the planner saw them',
  async (when) => {
    await seedDeliveries(service.db, one, 5000, { status: 'abandoned', secondsAgo: 3600 });
    await seedDelivery(service.db, one, { status: 'pending', secondsAgo: 12_000 });
    if (when === 'after') await service.db.query(sql`analyze deliveries, dead_letter_counts`);
    const preview = async (minutesAgo: number) => {
      const failed_from = new Date(Date.now() - minutesAgo * 60_000).toISOString();
      let count = 0;
      const blocks = await blocksOf(service.db, async (db) => {
        const options = { isOnHold: async () => false, maxAttempts: 8 };
        const asked = { request: { failed_from }, options };
        ({ count } = await db.transaction((on) =>
          previewBulk(on, { tenants: null }, 'retry', asked),
        ));
      });
      return { count, blocks: Object.values(blocks).reduce((sum, each) => sum + each, 0) };
    };
    const [all, most, none] = [await preview(300), await preview(180), await preview(30)];
    expect([all.count, most.count, none.count]).toEqual([5001, 5000, 0]);
    expect(all.blocks).toBeLessThan(100);
  },
);

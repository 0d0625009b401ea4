import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { useTestService } from '../../../test/service.ts';
import type { Act } from '../../platform/audit.ts';
import { purgeDeadLetter, retryDeadLetter } from './retry.ts';
import {
  clearQueue,
  countStatuses,
  findWrongCounts,
  readDelivery,
  type SeededEndpoint,
  seedDeliveries,
  seedDelivery,
  seedEndpoint,
  silentAct,
} from './testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api' });
let open: SeededEndpoint;
let other: SeededEndpoint;
let closed: SeededEndpoint;
beforeEach(async () => {
  await clearQueue(service.db);
  await service.db.query(sql`delete from webhook_endpoints`);
  open = await seedEndpoint(service.db, { tenant: 'A' });
  other = await seedEndpoint(service.db, { tenant: 'B', maxAttempts: 3 });
  closed = await seedEndpoint(service.db, { tenant: 'B', enabled: false });
});
afterEach(async () => expect(await findWrongCounts(service.db)).toEqual([]));

const retry = (id: string) => service.call('POST', `/webhook/dlq/${id}/retry`);
const purge = (id: string) => service.call('DELETE', `/webhook/dlq/${id}`);

/** An act that keeps what it puts on record, and what it woke. */
function recordedAct() {
  const noted: { action: string; target: string | null; before?: unknown }[] = [];
  const woken: string[] = [];
  const act: Act = { ...silentAct, audit: async (_db, entry) => void noted.push(entry) };
  const wakeUp = { wake: (ids: readonly string[]) => void woken.push(...ids) };
  return { noted, woken, act, wakeUp, maxAttempts: 8 };
}

test('a malformed and an unknown id answer 404', async () => {
  for (const call of [retry, purge]) {
    for (const id of ['nonsense', 'dlv_63aaaaaaaaaaaaaaaaaa']) {
      expect((await call(id)).json).toMatchObject({ status: 404, code: 'delivery_not_found' });
    }
  }
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { rate: 5 } : undefined;
    for (const id of ['nothing', 'no.id']) {
      const { json } = await service.call(method, `/webhook/dlq/retries/${id}`, { body });
      expect(json, `${method} ${id}`).toMatchObject({ status: 404, code: 'retry_job_not_found' });
    }
  }
});

test('a delivered or discarded delivery is not retried', async () => {
  const endpoint = await seedEndpoint(service.db);
  for (const status of ['delivered', 'discarded'] as const) {
    const id = await seedDelivery(service.db, endpoint, { status });
    expect((await retry(id)).json).toMatchObject({ status: 409, code: 'delivery_finished' });
    expect(await readDelivery(service.db, id)).toMatchObject({ status, version: 0 });
  }
});

test('a delivery of a disabled or deleted endpoint is not retried', async () => {
  for (const options of [{ enabled: false }, { isDeleted: true }]) {
    const id = await seedDelivery(service.db, await seedEndpoint(service.db, options));
    expect((await retry(id)).json).toMatchObject({ status: 409, code: 'endpoint_disabled' });
    expect((await readDelivery(service.db, id)).status).toBe('abandoned');
  }
});

test.each(['pending', 'abandoned'] as const)(
  'a %s delivery is re-armed with a fresh budget',
  async (status) => {
    const endpoint = await seedEndpoint(service.db);
    const id = await seedDelivery(service.db, endpoint, { status, attempts: 5, leasedSeconds: -1 });
    const answer = await retry(id);
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({
      id,
      status: 'queued',
      attempts: 5,
      max_attempts: 13,
      last_status: 500,
      error: 'the receiver answered 500',
      next_retry: expect.any(String),
    });
    expect(await readDelivery(service.db, id)).toEqual({
      status: 'queued',
      version: 1,
      attempts: 5,
      max_attempts: 13,
      schedule_from: 5,
      is_probe: true,
      is_due: true,
      held_by: null,
      lease: null,
      finished_at: null,
    });
  },
);

test('the budget is that of the endpoint if it names one', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db, { maxAttempts: 3 }));
  expect((await retry(id)).json.max_attempts).toBe(11);
});

test('a retry of what is queued or in flight changes nothing', async () => {
  const endpoint = await seedEndpoint(service.db);
  const queued = await seedDelivery(service.db, endpoint, { status: 'queued' });
  const inFlight = await seedDelivery(service.db, endpoint, {
    status: 'pending',
    leasedSeconds: 30,
  });
  const options = recordedAct();
  for (const id of [queued, inFlight]) {
    const before = await readDelivery(service.db, id);
    expect((await retry(id)).status).toBe(202);
    await retryDeadLetter(service.db, id, options);
    expect(await readDelivery(service.db, id)).toEqual(before);
  }
  expect(options).toMatchObject({ noted: [], woken: [] });
});

test('thirty racing retries are one re-arm, which leaves one audit entry and wakes its endpoint once', async () => {
  const endpoint = await seedEndpoint(service.db);
  const id = await seedDelivery(service.db, endpoint);
  const options = recordedAct();
  const rows = await Promise.all(
    Array.from({ length: 30 }, () => retryDeadLetter(service.db, id, options)),
  );
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['queued']));
  expect(await readDelivery(service.db, id)).toMatchObject({ version: 1, max_attempts: 16 });
  expect(options.noted).toMatchObject([
    { action: 'delivery.retry', target: id, tenant: 'T', before: { status: 'abandoned' } },
  ]);
  expect(options.woken).toEqual([endpoint.id]);
});

test('a retry whose record cannot be written does not happen', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db));
  const { act, ...options } = recordedAct();
  const audit = async () => {
    throw new Error('no record');
  };
  await expect(
    retryDeadLetter(service.db, id, { ...options, act: { ...act, audit } }),
  ).rejects.toThrow('no record');
  expect((await readDelivery(service.db, id)).status).toBe('abandoned');
  expect(options.woken).toEqual([]);
});

test('a delivered delivery is not purged', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db), {
    status: 'delivered',
  });
  expect((await purge(id)).json).toMatchObject({ status: 409, code: 'delivery_finished' });
});

test.each(['queued', 'pending', 'abandoned'] as const)(
  'a %s delivery is purged, even in flight, and again',
  async (status) => {
    const endpoint = await seedEndpoint(service.db, { enabled: false });
    const id = await seedDelivery(service.db, endpoint, {
      status,
      leasedSeconds: 30,
      isProbe: true,
    });
    expect((await purge(id)).status).toBe(204);
    expect((await purge(id)).status).toBe(204);
    expect(await readDelivery(service.db, id)).toMatchObject({
      status: 'discarded',
      version: 1,
      is_probe: false,
      is_due: null,
      lease: null,
      finished_at: expect.any(String),
    });
  },
);

test('purges are put on record once, with what the delivery was', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db), { attempts: 8 });
  const { act, noted } = recordedAct();
  const options = { act, refuseHold: async () => {} };
  await Promise.all(Array.from({ length: 10 }, () => purgeDeadLetter(service.db, id, options)));
  expect(noted).toMatchObject([
    { action: 'delivery.purge', target: id, before: { status: 'abandoned', attempts: 8 } },
  ]);
});

test('a retry that meets a purge is told', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db));
  await service.db.transaction(async (holder) => {
    await holder.query(sql`select id from deliveries where id = ${id} for update`);
    const late = retry(id);
    await untilLockWaits(service.db, 1);
    await holder.query(sql`
      update deliveries set status = 'discarded', version = version + 1, finished_at = now() where id = ${id}`);
    await holder.query(
      sql`update dead_letter_counts set count = 0 where endpoint_id = (select endpoint_id from deliveries where id = ${id})`,
    );
    await holder.client.query('commit');
    expect((await late).json.code).toBe('delivery_finished');
  });
});

const ask = (body: object, token?: string) =>
  service.call('POST', '/webhook/dlq/retry', { body, ...(token === undefined ? {} : { token }) });
const getJob = async (id: string) => (await service.call('GET', `/webhook/dlq/retries/${id}`)).json;
const change = (id: string, body: object, token?: string) =>
  service.call('PATCH', `/webhook/dlq/retries/${id}`, {
    body,
    ...(token === undefined ? {} : { token }),
  });

async function done(id: string) {
  await expect
    .poll(() => getJob(id), { timeout: 120_000, interval: 20 })
    .toMatchObject({ state: 'completed' });
  return getJob(id);
}

const countByStatus = ({ id }: SeededEndpoint) => countStatuses(service.db, id);

/** A job that goes a row a second, and so stands still for a while after its first. */
async function slowJob(token?: string): Promise<string> {
  await seedDeliveries(service.db, open, 50);
  const { json } = await ask({ tenant: 'A', rate: 1 }, token);
  return json.id;
}

test('a mistyped filter, an impossible time and an empty change answer 400', async () => {
  const bodies = [
    { tenants: 'A' },
    { status: 'queued' },
    { rate: 0 },
    { failed_from: '2026-02-30T00:00:00Z' },
  ];
  for (const body of bodies) {
    expect((await ask(body)).json).toMatchObject({ status: 400, code: 'request_invalid' });
  }
  const turned = { failed_from: '2026-03-02T00:00:00Z', failed_to: '2026-03-01T00:00:00Z' };
  expect((await ask(turned)).json).toMatchObject({ status: 400, errors: [{ path: '/failed_to' }] });
  expect((await change('x', {})).status).toBe(400);
  expect((await change('x', { state: 'cancelled' })).status).toBe(400);
});

test('a dry run says what would be re-armed and changes nothing', async () => {
  await seedDeliveries(service.db, open, 5);
  await seedDeliveries(service.db, open, 2, { status: 'pending', secondsAgo: 5000 });
  await seedDeliveries(service.db, other, 3, { failureClass: 'dns' });
  await seedDeliveries(service.db, closed, 4);
  const preview = async (body: object) => (await ask({ dry_run: true, ...body })).json;
  expect(await preview({})).toEqual({
    count: 10,
    skipped: 4,
    groups: [
      { endpoint_id: open.id, target: 'https://a.example/hook', failure_class: 'status', count: 7 },
      { endpoint_id: other.id, target: 'https://b.example/hook', failure_class: 'dns', count: 3 },
    ],
  });
  expect(await preview({ status: 'pending' })).toMatchObject({ count: 2, skipped: 0 });
  expect(await preview({ tenant: 'B' })).toMatchObject({ count: 3, skipped: 4 });
  expect(await preview({ failure_class: 'dns' })).toMatchObject({ count: 3, skipped: 0 });
  const from = new Date(Date.now() - 1_000_000).toISOString();
  expect(await preview({ failed_from: from })).toMatchObject({ count: 8, skipped: 4 });
  expect(await preview({ failed_to: from })).toMatchObject({ count: 2, skipped: 0 });
  expect(await preview({ tenant: 'A', endpoint_id: other.id })).toEqual({
    count: 0,
    skipped: 0,
    groups: [],
  });
  expect((await service.call('GET', '/webhook/dlq/retries')).json.data).toEqual([]);
  expect(await countByStatus(open)).toEqual({ abandoned: 5, pending: 2 });
});

test('all rows are re-armed in batches, those of disabled endpoints and in flight are left alone', async () => {
  const ids = await seedDeliveries(service.db, open, 1203);
  await seedDeliveries(service.db, other, 3, { status: 'pending', attempts: 2 });
  await seedDeliveries(service.db, closed, 4);
  const inFlight = await seedDelivery(service.db, open, { status: 'pending', leasedSeconds: 600 });
  const delivered = await seedDelivery(service.db, open, { status: 'delivered' });
  const answer = await service.call('POST', '/webhook/dlq/retry');
  expect(answer.status, answer.text).toBe(202);
  expect(answer.json).toMatchObject({
    state: 'running',
    rows_total: 1211,
    rate: null,
    created_by: 'first admin',
  });
  expect(await done(answer.json.id)).toMatchObject({
    rows_done: 1206,
    rows_skipped: 5,
    finished_at: expect.any(String),
  });
  expect(await countByStatus(open)).toEqual({ queued: 1203, pending: 1, delivered: 1 });
  expect(await countByStatus(other)).toEqual({ queued: 3 });
  expect(await countByStatus(closed)).toEqual({ abandoned: 4 });
  expect(await readDelivery(service.db, ids[0] ?? '')).toMatchObject({
    version: 1,
    max_attempts: 16,
    schedule_from: 8,
    is_probe: false,
    is_due: true,
  });
  const budgets = await service.db.query(sql`
    select distinct max_attempts, schedule_from from deliveries where endpoint_id = ${other.id}`);
  expect(budgets).toEqual([{ max_attempts: 5, schedule_from: 2 }]);
  expect(await readDelivery(service.db, inFlight)).toMatchObject({ status: 'pending', version: 0 });
  expect((await readDelivery(service.db, delivered)).status).toBe('delivered');
});

test('only what the filter finds is re-armed', async () => {
  await seedDeliveries(service.db, open, 4);
  await seedDeliveries(service.db, open, 6000, { failureClass: 'reset', secondsAgo: 10 });
  await seedDeliveries(service.db, open, 3, { failureClass: 'dns', secondsAgo: 9000 });
  await seedDeliveries(service.db, open, 700, { failureClass: 'dns', secondsAgo: 1000.5 });
  await seedDeliveries(service.db, other, 2, { failureClass: 'dns' });
  const { json } = await ask({
    status: 'abandoned',
    tenant: 'A',
    failure_class: 'dns',
    failed_from: new Date(Date.now() - 8_000_000).toISOString(),
  });
  expect(json.rows_total).toBe(700);
  expect(await done(json.id)).toMatchObject({
    rows_done: 700,
    rows_skipped: 0,
    failure_class: 'dns',
  });
  expect(await countByStatus(open)).toEqual({ queued: 700, abandoned: 6007 });
  expect(await countByStatus(other)).toEqual({ abandoned: 2 });
});

test('a job is paused, paced, resumed and then ended for good', async () => {
  const id = await slowJob();
  const paused = await change(id, { state: 'paused' });
  expect(paused.json).toMatchObject({ state: 'paused', finished_at: null });
  const { rows_done } = await getJob(id);
  expect(rows_done).toBeLessThan(50);
  expect((await change(id, { rate: null })).json).toMatchObject({ state: 'paused', rate: null });
  expect((await change(id, { state: 'running' })).status).toBe(200);
  expect(await done(id)).toMatchObject({ rows_done: 50 });
  expect((await change(id, { state: 'running' })).json).toMatchObject({
    status: 409,
    code: 'retry_job_finished',
  });
  expect((await service.call('DELETE', `/webhook/dlq/retries/${id}`)).status).toBe(204);
  expect((await getJob(id)).state).toBe('completed');
});

test('a cancelled job keeps what it has done and does no more', async () => {
  const id = await slowJob();
  for (let i = 0; i < 2; i++) {
    expect((await service.call('DELETE', `/webhook/dlq/retries/${id}`)).status).toBe(204);
  }
  const job = await getJob(id);
  expect(job).toMatchObject({ state: 'cancelled', finished_at: expect.any(String) });
  expect((await change(id, { rate: null })).json.code).toBe('retry_job_finished');
  expect((await countByStatus(open)).queued ?? 0).toBe(job.rows_done);
});

test('jobs are listed newest first, over pages, without the discards of deleted endpoints', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift((await ask({ tenant: `none ${i}` })).json.id);
  await service.db.query(sql`
    insert into dead_letter_jobs (id, action, state, endpoint_id, rows_total, created_by)
    values ('job_discard', 'discard', 'paused', 'gone', 0, 'x')`);
  const listed = await service.all('/webhook/dlq/retries?limit=3');
  expect(listed.map((job) => job.id)).toEqual(ids);
  expect((await getJob('job_discard')).status).toBe(404);
});

test('a job reaches no further than the token it was made with, and shows to no lesser one', async () => {
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['B', 'C'] });
  const { token: lesser } = await service.makeToken({ preset: 'admin', tenants: ['C'] });
  await seedDeliveries(service.db, open, 3);
  await seedDeliveries(service.db, other, 2);
  expect((await ask({ dry_run: true }, token)).json).toMatchObject({ count: 2 });
  expect((await ask({ dry_run: true, tenant: 'A' }, token)).json).toMatchObject({ count: 0 });
  const { json } = await ask({}, token);
  expect(await done(json.id)).toMatchObject({ rows_total: 2, rows_done: 2 });
  const foreign = (await ask({ endpoint_id: open.id }, token)).json;
  expect(await done(foreign.id)).toMatchObject({ rows_total: 0, rows_done: 0 });
  expect(await countByStatus(open)).toEqual({ abandoned: 3 });

  const whole = (await ask({ tenant: 'nobody' })).json;
  const seenBy = async (seer: string) =>
    (await service.call('GET', '/webhook/dlq/retries', { token: seer })).json.data.length;
  expect(await seenBy(service.adminToken)).toBe(3);
  expect(await seenBy(token)).toBe(2);
  expect(await seenBy(lesser)).toBe(0);
  for (const [id, seer] of [
    [whole.id, token],
    [json.id, lesser],
  ]) {
    const path = `/webhook/dlq/retries/${id}`;
    expect((await service.call('GET', path, { token: seer })).status).toBe(404);
    expect((await change(id, { rate: 5 }, seer)).status).toBe(404);
    expect((await service.call('DELETE', path, { token: seer })).status).toBe(404);
  }
});

test('what a deleted endpoint leaves behind is discarded', async () => {
  const gone = await seedEndpoint(service.db, { isDeleted: true });
  await seedDeliveries(service.db, gone, 620, { status: 'pending' });
  await seedDeliveries(service.db, gone, 600);
  await seedDelivery(service.db, gone, { status: 'queued', leasedSeconds: 600 });
  await seedDelivery(service.db, gone, { status: 'delivered' });
  await seedDelivery(service.db, open, {});
  await service.db.query(sql`
    insert into dead_letter_jobs (id, action, state, endpoint_id, rows_total, created_by)
    values ('job_d', 'discard', 'running', ${gone.id}, 1221, 'x')`);
  await ask({ tenant: 'nobody' });
  await expect
    .poll(
      () => service.db.query(sql`select state, rows_done from dead_letter_jobs where id = 'job_d'`),
      { timeout: 120_000 },
    )
    .toEqual([{ state: 'completed', rows_done: 1221 }]);
  expect(await countByStatus(gone)).toEqual({ discarded: 1221, delivered: 1 });
  expect(await countByStatus(open)).toEqual({ abandoned: 1 });
});

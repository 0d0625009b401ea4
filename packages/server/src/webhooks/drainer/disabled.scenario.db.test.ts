import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { answer } from '../../../test/receiver.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { discardOfEndpoint } from '../dead-letters/queries.ts';
import { countStatuses, seedDeliveries } from '../dead-letters/testing/seed.ts';
import { forgetHistory } from '../forget.ts';
import { laneOf } from '../lanes.ts';
import { planOnce, recordOutcomes } from './outcome-queries.ts';
import {
  claimDeliveries,
  findWaitingAmong,
  findWaitingEndpoints,
  followDueIndex,
  isAnythingDue,
} from './queries.ts';
import { outcomeRow } from './testing/outcome-row.ts';
import { isStatus, useCleanWorld } from './testing/world.ts';

const { world, receiver } = useCleanWorld();

const at = (id: string, verb = '') => `/webhook/endpoints/${id}${verb}`;
const show = async (id: string) => (await world.call('GET', at(id))).json;
const change = async (id: string, body: object) => {
  const changed = await world.call('PATCH', at(id), { body });
  expect(changed.status, changed.text).toBe(200);
  return changed.json;
};
const statuses = (id: string) => countStatuses(world.db, id);
const disabledEndpoint = async (more: object = {}) =>
  (await world.addEndpoint(receiver.url(), { enabled: false, ...more })).id;

test('what is reported while an endpoint is disabled waits, shows, and goes out once it is enabled', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  await change(endpoint, { enabled: false });
  const body = { tenant: 'TX', type: 'incident.created', data: {}, idempotency_key: 'kept' };
  const accepted = await world.call('POST', '/incidents', { body });
  expect(accepted.json.deliveries).toMatchObject([{ endpoint_id: endpoint, status: 'queued' }]);
  const more = await world.report(2);
  const id = accepted.json.deliveries[0].id;

  const { disabled_at: since } = await show(endpoint);
  const inWords = `${since.slice(0, 10)} ${since.slice(11, 19)} UTC`;
  const detail = (await world.call('GET', `/webhook/dlq/${id}`)).json;
  expect(detail).toMatchObject({ status: 'queued', waits_for_endpoint: true });
  expect(detail.waiting).toEqual({
    reason: 'disabled',
    until: null,
    text: `the endpoint is disabled since ${inWords} by an operator (first admin). Enable it to deliver`,
  });
  const listed = await world.call('GET', '/webhook/deliveries?status=queued');
  expect(listed.json.data).toHaveLength(3);
  for (const row of listed.json.data) expect(row.waits_for_endpoint).toBe(true);
  const backlog = { count: 3, is_exact: true, is_discarding: false };
  expect(await show(endpoint)).toMatchObject({ enabled: false, backlog });
  expect((await world.call('GET', '/webhook/endpoints')).json.data).toMatchObject([{ backlog }]);
  expect((await world.call('POST', `/webhook/dlq/${id}/retry`)).json.code).toBe(
    'endpoint_disabled',
  );
  expect(await isAnythingDue(world.db)).toBe(false);
  expect(receiver.requests).toHaveLength(0);

  expect((await change(endpoint, { enabled: true })).backlog.count).toBe(3);
  await world.untilAll([id, ...more], 'delivered');
  expect(receiver.requests).toHaveLength(3);
  expect(receiver.duplicates).toBe(0);
  const again = await world.call('POST', '/incidents', { body });
  expect(again.text).toBe(accepted.text);
});

test('a 410 disables its endpoint: what is reported then waits, and what failed can be retried', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  receiver.behave(() => answer(410));
  const [first = ''] = await world.report();
  const parked = await world.untilDelivery(first, isStatus('abandoned'));
  expect(parked).toMatchObject({ failure_class: 'gone', attempts: 1, max_attempts: 1 });
  receiver.behave(() => answer(204));
  const ids = await world.report(3);
  expect(ids).toHaveLength(3);
  const { waiting } = (await world.call('GET', `/webhook/dlq/${ids[0]}`)).json;
  expect(waiting.text).toMatch(/^the endpoint is disabled since .* by its receiver, .* 410 Gone\./);
  const gone = { enabled: false, disabled_reason: 'gone', disabled_by: null };
  expect(await show(endpoint)).toMatchObject({ ...gone, backlog: { count: 3 } });
  const retry = async () => (await world.call('POST', `/webhook/dlq/${first}/retry`)).status;
  expect(await retry()).toBe(409);
  await change(endpoint, { enabled: true });
  expect(await retry()).toBe(202);
  await world.untilAll([first, ...ids], 'delivered');
  expect(receiver.requests).toHaveLength(5);
});

test('reports, disabling and enabling at once leave no row that is never delivered', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  const reported = Array.from({ length: 6 }, () => world.report(10));
  const switched = Array.from({ length: 3 }, async () => {
    for (let n = 0; n < 5; n += 1) {
      await change(endpoint, { enabled: false });
      await change(endpoint, { enabled: true });
    }
  });
  const ids = (await Promise.all(reported)).flat();
  await Promise.all(switched);
  expect(ids).toHaveLength(60);
  expect((await show(endpoint)).enabled).toBe(true);
  await world.untilAll(ids, 'delivered');
  expect(receiver.requests).toHaveLength(60);
});

test('a backlog is discarded by choice, and the endpoint enabled', async () => {
  const endpoint = await disabledEndpoint();
  await world.report(3);
  const seeded = { id: endpoint, tenant: 'TX' };
  await seedDeliveries(world.db, seeded, 2, { status: 'pending', dueInSeconds: 3600 });
  await seedDeliveries(world.db, seeded, 1, { status: 'abandoned' });
  const discarded = await world.call('POST', at(endpoint, '/discard-backlog'));
  expect(discarded.json).toMatchObject({
    enabled: true,
    disabled_at: null,
    backlog: { count: 0, is_discarding: false },
  });
  expect(await statuses(endpoint)).toEqual({ discarded: 5, abandoned: 1 });
  const audit = await world.call('GET', `/audit?action=endpoint.discard_backlog`);
  expect(audit.json.data[0]).toMatchObject({
    target: endpoint,
    before: { enabled: false, backlog: { count: 5 } },
    after: { enabled: true, discarded: 5 },
  });
  const [fresh = ''] = await world.report();
  await world.untilDelivery(fresh, isStatus('delivered'));
  expect(receiver.requests).toHaveLength(1);
  const again = await world.call('POST', at(endpoint, '/discard-backlog'));
  expect(again.json).toMatchObject({ status: 409, code: 'endpoint_enabled' });
});

test('a backlog that is discarded is that of the click: what is reported meanwhile is delivered', async () => {
  const endpoint = await disabledEndpoint();
  await world.report(2);
  const seeded = { id: endpoint, tenant: 'TX' };
  await seedDeliveries(world.db, seeded, 5400, { status: 'queued' });
  await seedDeliveries(world.db, seeded, 3, { status: 'pending', dueInSeconds: 3600 });
  const asked = await world.call('POST', at(endpoint, '/discard-backlog'));
  expect(asked.json).toMatchObject({ enabled: false, backlog: { is_discarding: true } });
  const fresh: string[] = [];
  do fresh.push(...(await world.report(5)));
  while (!(await show(endpoint)).enabled);
  await world.untilAll(fresh, 'delivered');
  expect(await statuses(endpoint)).toEqual({ discarded: 5405, delivered: fresh.length });
  const { json } = await world.call('GET', '/audit?action=endpoint.discard_backlog&limit=2');
  expect(json.data).toMatchObject([
    { actor: { name: 'svcctl' }, target: endpoint, tenant: 'TX' },
    { actor: { name: 'first admin' }, after: { discarded: 5000 } },
  ]);
  const [{ after: end }, { after: click }] = json.data;
  expect(end).toEqual({ job: click.job, asked_by: 'first admin', discarded: 5405 });
});

test('whoever ends a discarding is told how many were discarded until then', async () => {
  const endpoint = await disabledEndpoint();
  await seedDeliveries(world.db, { id: endpoint, tenant: 'TX' }, 12_000, { status: 'queued' });
  await world.call('POST', at(endpoint, '/discard-backlog'));
  await change(endpoint, { enabled: false });
  const { json } = await world.call('GET', '/audit?action=endpoint.change&limit=1');
  const { discarded } = await statuses(endpoint);
  expect(json.data[0]).toMatchObject({ target: endpoint, after: { enabled: false, discarded } });

  const deleted = await disabledEndpoint();
  await seedDeliveries(world.db, { id: deleted, tenant: 'TX' }, 9000, { status: 'queued' });
  await world.call('POST', at(deleted, '/discard-backlog'));
  await world.call('DELETE', at(deleted));
  const audit = await world.call('GET', '/audit?action=endpoint.delete&limit=1');
  const [{ target, after }] = audit.json.data;
  expect(target).toBe(deleted);
  expect(after.discarded_before).toBeGreaterThanOrEqual(5000);
  expect(after.discarded_before + after.discarded).toBe(9000);
});

test('two that discard a backlog at once make one job, which ends when the endpoint is enabled', async () => {
  const endpoint = await disabledEndpoint();
  await seedDeliveries(world.db, { id: endpoint, tenant: 'TX' }, 5300, { status: 'queued' });
  const discard = () => world.call('POST', at(endpoint, '/discard-backlog'));
  // Both have begun before either has the endpoint: what they read until then is old.
  const asked = await world.db.transaction(async (holder) => {
    await holder.query(sql`select from webhook_endpoints where id = ${endpoint} for update`);
    const both = [discard(), discard()];
    await untilLockWaits(world.db, 2);
    return both;
  });
  for (const answered of await Promise.all(asked)) {
    expect(answered.json).toMatchObject({ enabled: false, backlog: { is_discarding: true } });
  }
  const jobs = () =>
    world.db.query(sql`select state from dead_letter_jobs where endpoint_id = ${endpoint}`);
  expect(await jobs()).toHaveLength(1);
  await expect.poll(() => show(endpoint), { timeout: 120_000 }).toMatchObject({ enabled: true });
  expect(await jobs()).toEqual([{ state: 'completed' }]);
  expect(await statuses(endpoint)).toEqual({ discarded: 5300 });
});

test('a job that is left to an enabled endpoint ends without discarding anything', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  const pending = { status: 'pending', dueInSeconds: 3600 } as const;
  await seedDeliveries(world.db, { id: endpoint, tenant: 'TX' }, 3, pending);
  await world.db.query(sql`
    insert into dead_letter_jobs (id, action, state, endpoint_id, rows_total, created_by)
    values ('job_left', 'discard_backlog', 'running', ${endpoint}, 9, 'test')`);
  const job = () =>
    world.db.query(sql`select state, rows_done from dead_letter_jobs where id = 'job_left'`);
  // Any other job has this one found now, and not at the next look.
  await world.call('POST', '/webhook/dlq/retry', { body: { endpoint_id: 'ep_none' } });
  await expect.poll(job, { timeout: 120_000 }).toEqual([{ state: 'completed', rows_done: 0 }]);
  expect(await statuses(endpoint)).toEqual({ pending: 3 });
});

test('whoever enables, disables or deletes an endpoint ends the discarding of its backlog', async () => {
  for (const end of [
    (id: string) => world.call('PATCH', at(id), { body: { enabled: false } }),
    (id: string) => world.call('PATCH', at(id), { body: { enabled: true } }),
    (id: string) => world.call('DELETE', at(id)),
  ]) {
    const endpoint = await disabledEndpoint();
    await seedDeliveries(world.db, { id: endpoint, tenant: 'TX' }, 5300, { status: 'queued' });
    await world.call('POST', at(endpoint, '/discard-backlog'));
    await end(endpoint);
    const running = await world.db.query(sql`
      select from dead_letter_jobs
      where endpoint_id = ${endpoint} and action = 'discard_backlog' and state = 'running'`);
    expect(running).toEqual([]);
    await world.call('DELETE', at(endpoint));
  }
});

test('what waited too long is abandoned, stands in the dead-letter queue, and can be retried', async () => {
  const endpoint = await disabledEndpoint();
  const late = await disabledEndpoint();
  const days = 86_400;
  for (const id of [endpoint, late]) {
    const seeded = { id, tenant: 'TX' };
    const old = { dueInSeconds: -40 * days };
    await seedDeliveries(world.db, seeded, 5, { status: 'queued', ...old });
    await seedDeliveries(world.db, seeded, 2, { status: 'pending', ...old });
    await seedDeliveries(world.db, seeded, 1, { status: 'queued', ...old, leasedSeconds: 60 });
    await seedDeliveries(world.db, seeded, 1, { status: 'queued', dueInSeconds: -20 * days });
  }
  // Due for long, but disabled since yesterday: what waited for something else had not waited for it.
  await world.db.query(sql`
    update webhook_endpoints set disabled_at = now() - interval '35 days' where id = ${endpoint}`);
  await world.db.query(sql`
    update webhook_endpoints set disabled_at = now() - interval '1 day' where id = ${late}`);
  await forgetHistory(world.db, { days: 30, incidentDays: 0 }, new AbortController().signal, 3);
  expect(await statuses(endpoint)).toEqual({ abandoned: 7, queued: 2 });
  expect(await statuses(late)).toEqual({ queued: 7, pending: 2 });
  await world.expectCountsToFit();

  const list = await world.call(
    'GET',
    '/webhook/dlq?status=abandoned&failure_class=endpoint_disabled',
  );
  expect(list.json.total).toBe(7);
  expect(list.json.data).toHaveLength(7);
  const fresh = list.json.data.find((row: { attempts: number }) => row.attempts === 0);
  expect(fresh).toMatchObject({
    max_attempts: 0,
    next_retry: null,
    last_status: null,
    error: 'Its endpoint was disabled, and it waited for more than 30 days',
    last_attempt_at: expect.any(String),
  });
  const groups = await world.call('GET', '/webhook/dlq/groups?status=abandoned');
  expect(groups.json.data).toMatchObject([{ failure_class: 'endpoint_disabled', count: 7 }]);

  const asked = { status: 'abandoned', endpoint_id: endpoint };
  const preview = await world.call('POST', '/webhook/dlq/retry', {
    body: { ...asked, dry_run: true },
  });
  expect(preview.json).toMatchObject({ count: 0, skipped: 7 });
  expect((await world.call('DELETE', `/webhook/dlq/${fresh.id}`)).status).toBe(204);
  await change(endpoint, { enabled: true });
  const retried = list.json.data.find((row: { id: string }) => row.id !== fresh.id).id;
  const armed = await world.call('POST', `/webhook/dlq/${retried}/retry`);
  expect(armed.json.max_attempts).toBe(armed.json.attempts + 8);
  await world.untilDelivery(retried, isStatus('delivered'));
  await world.call('POST', '/webhook/dlq/retry', { body: asked });
  await expect
    .poll(() => statuses(endpoint), { timeout: 120_000 })
    .toEqual({ delivered: 7, queued: 1, discarded: 1 });
});

test('a look says of an endpoint whether more is due than what is being attempted', async () => {
  const id = await disabledEndpoint();
  const look = async () =>
    (await findWaitingAmong(world.db, [id], [laneOf(id)])).map((endpoint) => endpoint.hasFree);
  const lease = (until: string) =>
    world.db.query(sql`
    update deliveries set lease = 7, leased_until = now() + ${until}::interval where endpoint_id = ${id}`);
  await seedDeliveries(world.db, { id, tenant: 'TX' }, 2, { status: 'queued' });
  expect(await look()).toEqual([true]);
  await lease('1 minute');
  expect(await look()).toEqual([false]);
  await seedDeliveries(world.db, { id, tenant: 'TX' }, 1, { status: 'queued', dueInSeconds: 60 });
  expect(await look()).toEqual([false]);
  await lease('-1 second');
  expect(await look()).toEqual([true]);
});

test.each(['a table of one row', 'a row that was left of many'])(
  'looks, claims, outcomes and discards cost the same however long a backlog is, when the planner saw %s',
  async (seen) => {
    const lanes = Array.from({ length: 64 }, (_, lane) => lane);
    const id = await disabledEndpoint();
    const endpoint = { id, tenant: 'TX' };
    const [{ keeper } = { keeper: '' }] = await world.db.query<{ keeper: string }>(
      sql`select keeper::text as keeper from lanes where lane = ${laneOf(id)}`,
    );
    const claim = [{ lane: laneOf(id), endpointId: id, count: 10, isFresh: true }];
    const lease = { id: 1, seconds: 0, keeper: Number(keeper), onlyProbes: false };
    const claims = await world.db.openSession();
    await followDueIndex(claims, 'session');
    const looks = await world.db.openSession();
    const writes = await world.db.openSession();
    const blocks = async (session: Queryable, work: () => Promise<unknown[]>) => {
      const reads = sql`select sum(pg_stat_get_xact_blocks_fetched(oid))::int as blocks
      from pg_class where relname ~ '^(deliveries|dead_letters)'`;
      await session.query(sql`begin`);
      if (session === looks) await followDueIndex(session, 'transaction');
      await session.query(sql`
      update webhook_endpoints set enabled = true, disabled_at = null where id = ${id}`);
      const [before] = await session.query<{ blocks: number }>(reads);
      expect(await work()).not.toEqual([]);
      const [after] = await session.query<{ blocks: number }>(reads);
      await session.query(sql`rollback`);
      return (after?.blocks ?? 0) - (before?.blocks ?? 0);
    };
    // Of a table of one row the planner takes every column for unique, and any index for as good. In a file that many have
    // left it expects next to none, however long it grows.
    const isLeft = seen === 'a row that was left of many';
    if (isLeft) await seedDeliveries(world.db, endpoint, 20_000, { status: 'queued' });
    await world.db.query(sql`delete from deliveries`);
    // A statement that began before would keep their rows from being vacuumed.
    const older = sql`select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null`;
    await expect.poll(() => world.db.query(older), { timeout: 60_000 }).toEqual([]);
    const [first = ''] = await seedDeliveries(world.db, endpoint, 1, { status: 'queued' });
    await world.db.query(isLeft ? sql`vacuum deliveries` : sql`vacuum full deliveries`);
    await world.db.query(sql`analyze deliveries`);
    await planOnce(writes);
    await recordOutcomes(writes, [outcomeRow(first)]);
    await seedDeliveries(world.db, endpoint, 20_000, { status: 'queued' });
    const ids = await leaseFirst(10);
    for (const session of [looks, claims]) await session.query(sql`discard plans`);
    await planOnce(writes);
    const blocksRead = {
      scan: await blocks(looks, () => findWaitingEndpoints(looks, lanes)),
      look: await blocks(looks, () => findWaitingAmong(looks, [id], lanes)),
      claim: await blocks(claims, () => claimDeliveries(claims, claim, lease)),
      outcomes: await blocks(writes, async () => [
        ...(await recordOutcomes(
          writes,
          ids.map((id) => outcomeRow(id)),
        )),
      ]),
      discard: await blocks(writes, async () => [await discardOfEndpoint(writes, id, 10)]),
    };
    for (const session of [looks, claims, writes]) await session.close();
    // A look reads eight blocks; to plan it takes four of each index, for three places in the statement. A scan reads two
    // blocks of the index for each lane; a claim of ten rows reads and writes each, and so do ten outcomes, which also
    // write each into the indexes.
    expect(blocksRead.scan).toBeLessThan(210);
    expect(blocksRead.look).toBeLessThan(70);
    expect(blocksRead.claim).toBeLessThan(200);
    // What is discarded leaves most of the indexes, and counts of two kinds.
    expect(blocksRead.discard).toBeLessThan(2500);
    // Among few rows the planner takes an index that has the id second for as good as the key. It reads all of it for
    // each delivery, but no row; along all rows it was 60,000.
    expect(blocksRead.outcomes).toBeLessThan(isLeft ? 10_000 : 1000);
  },
);

/** Leases some deliveries as `outcomeRow` expects; answers their ids. */
async function leaseFirst(count: number): Promise<string[]> {
  const rows = await world.db.query<{ id: string }>(sql`
    update deliveries set lease = 1 where id in (select id from deliveries where status = 'queued' limit ${count})
    returning id`);
  return rows.map(({ id }) => id);
}

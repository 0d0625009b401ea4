import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../test/receiver.ts';
import { seedDeliveries, seedEndpoint } from './dead-letters/testing/seed.ts';
import { isStatus, useWorld } from './drainer/testing/world.ts';
import { forgetHistory, giveUpWaiting } from './forget.ts';

const receiver = useReceiver();
const world = useWorld();

type Series = { delivered: number[]; failed: number[]; abandoned: number[] };
const get = async (path: string) => (await world.call('GET', path)).json;
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const sums = ({ delivered, failed, abandoned }: Series) => ({
  delivered: sum(delivered),
  failed: sum(failed),
  abandoned: sum(abandoned),
});

test('counts each attempt once in its hour, by endpoint, by tenant and in all', async () => {
  receiver.behave(({ path }) => answer(path === '/fails' ? 500 : 204));
  const good = await world.addEndpoint(receiver.url('/good'));
  const options = { tenant: 'CA', max_attempts: 2 };
  const bad = await world.addEndpoint(receiver.url('/fails'), options);
  const delivered = await world.report(3);
  const failed = await world.report(2, 'CA');
  await world.untilAll(delivered, 'delivered');
  for (const id of failed) {
    await world.untilDelivery(id, isStatus('pending'));
    await world.makeDue(id);
  }
  await world.untilAll(failed, 'abandoned');

  const all = await get('/stats/deliveries');
  expect(sums(all)).toEqual({ delivered: 3, failed: 2, abandoned: 2 });
  expect([all.delivered.length, all.failed.length, all.abandoned.length]).toEqual([24, 24, 24]);
  // The last hour is the present one. The test may run from one hour into the next.
  expect(sum(all.delivered.slice(-2))).toBe(3);
  expect(all.from).toMatch(/T\d\d:00:00\.000000Z$/);
  expect(sums(await get('/stats/deliveries?tenant=CA&hours=2'))).toEqual({
    delivered: 0,
    failed: 2,
    abandoned: 2,
  });
  expect(sums(await get(`/stats/deliveries?endpoint_id=${good.id}`))).toMatchObject({
    delivered: 3,
    failed: 0,
  });

  const { data } = await get('/webhook/endpoints?include=hours');
  const hoursOf = (id: string) => data.find((row: { id: string }) => row.id === id).hours;
  expect(sums(hoursOf(good.id))).toEqual({ delivered: 3, failed: 0, abandoned: 0 });
  expect(sums(hoursOf(bad.id))).toEqual({ delivered: 0, failed: 2, abandoned: 2 });
  const groups = await get('/webhook/dlq/groups?status=abandoned&include=hours');
  expect(groups.data.map((row: { hours: Series }) => sums(row.hours))).toEqual([
    { delivered: 0, failed: 2, abandoned: 2 },
  ]);
  expect((await get('/webhook/endpoints')).data[0]).not.toHaveProperty('hours');
});

test('counts what is given up because it waited for a disabled endpoint', async () => {
  const endpoint = await seedEndpoint(world.db, { tenant: 'W', enabled: false });
  await world.db.query(sql`
    update webhook_endpoints set disabled_at = now() - interval '40 days' where id = ${endpoint.id}`);
  await seedDeliveries(world.db, endpoint, 3, { status: 'queued', dueInSeconds: -35 * 86_400 });
  const { signal } = new AbortController();
  await giveUpWaiting(world.db, { days: 30, signal, batchSize: 2 });
  expect(sums(await get('/stats/deliveries?tenant=W'))).toEqual({
    delivered: 0,
    failed: 0,
    abandoned: 3,
  });
  const all = await get('/stats/deliveries');
  expect(sums(all)).toMatchObject({ delivered: 3, abandoned: 5 });
});

test('rewrites the rows of hours and of newest attempts in place', async () => {
  const tables = ['endpoint_hours', 'endpoint_attempts'];
  const before = await Promise.all(tables.map(updatesOf));
  // The tests above made ten updates of a table at most.
  const untold = 10;
  await world.untilAll(await world.report(20), 'delivered');
  // A session tells of its updates with one that comes a second later, or else when it was idle for ten seconds.
  const others = async () => {
    await world.untilAll(await world.report(), 'delivered');
    const after = await Promise.all(tables.map(updatesOf));
    return after.map((now, n) => {
      const then = before[n] ?? now;
      return now.all - then.all > untold ? now.others - then.others : null;
    });
  };
  await expect.poll(others).toEqual([0, 0]);
});

/** How often rows of a table were updated, and how many of these updates were not in place. */
async function updatesOf(table: string): Promise<{ all: number; others: number }> {
  const rows = await world.db.query<{ all: number; others: number }>(sql`
    select n_tup_upd as all, n_tup_upd - n_tup_hot_upd as others from pg_stat_user_tables
    where relname = ${table}`);
  return rows[0] ?? { all: 0, others: 0 };
}

test('forgets hours after 30 days', async () => {
  await world.db.query(sql`
    insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned)
    select 1, 'ep_' || n, now() - make_interval(days => 28 + n), 1, 0, 0 from generate_series(1, 9) n`);
  await world.db.query(sql`
    insert into delivery_hours (hour, lane, delivered, failed, abandoned)
    values (now() - interval '31 days', 1, 1, 0, 0), (now() - interval '29 days', 1, 1, 0, 0)`);
  await forgetHistory(world.db, { days: 30, incidentDays: 0 }, new AbortController().signal, 3);
  const kept = await world.db.query(sql`
    select endpoint_id from endpoint_hours where endpoint_id like 'ep__' order by 1`);
  expect(kept).toEqual([{ endpoint_id: 'ep_1' }]);
  const totals = await world.db.query(sql`
    select from delivery_hours where hour < now() - interval '28 days'`);
  expect(totals).toHaveLength(1);
});

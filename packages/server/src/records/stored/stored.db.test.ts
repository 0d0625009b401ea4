import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { blocksOf, testOnOneServer } from '../../../test/one-server.ts';
import { addDays } from '../../kernel/day.ts';
import type { RecordsOverview } from '../stored.contract.ts';
import { findTimes } from './queries.ts';
import { readStored, sumStored } from './stored.ts';

const db = useTestDatabase();
beforeEach(() => db.query(sql`truncate stored_hours, stored_days, leaf_tenants`));

const today = async () => (await findTimes(db)).today;

/** Counts records as if they had been stored so many days ago, in the hour that begins at noon. */
async function count(tenant: string, daysAgo: number, records: number, hour = 12): Promise<void> {
  await db.query(sql`
    insert into stored_hours (tenant, hour, count, bytes)
    select ${tenant}, date_trunc('day', now(), 'UTC') - make_interval(days => ${daysAgo}, hours => ${-hour}),
      ${records}, ${records * 10}`);
}

/** The counters of a tenant, as ingest and moves keep them. */
async function keep(tenant: string, counters: { count: number; cold: number }): Promise<void> {
  await db.query(sql`
    insert into leaf_tenants (tenant, count, bytes, digest, first_at, last_at, cold_count, cold_bytes,
      cold_stored_bytes)
    values (${tenant}, ${counters.count}, ${counters.count * 10}, 0, now(), now(), ${counters.cold},
      ${counters.cold * 10}, ${counters.cold})`);
}

/** How many days ago the last day was that may be summed up: just after midnight it is not yesterday. */
async function lastDay(): Promise<number> {
  const [row] = await db.query<{ ago: number }>(sql`
    select (now() at time zone 'UTC')::date - ((now() - interval '15 minutes') at time zone 'UTC')::date + 1 as ago`);
  return row?.ago ?? 1;
}

const lastDays = (numbers: readonly (number | null)[], days: number) => numbers.slice(-days);
const byTenant = ({ by_tenant: { tenants } }: RecordsOverview) =>
  Object.fromEntries(tenants.map(({ tenant, days }) => [tenant, lastDays(days, 4)]));

async function seed(): Promise<void> {
  await keep('TX', { count: 40, cold: 30 });
  await keep('CA', { count: 5, cold: 0 });
  await count('TX', 3, 20);
  await count('TX', 3, 1, 13);
  await count('TX', 2, 12);
  await count('TX', 0, 7, 0);
  await count('CA', 3, 4);
  await count('CA', 0, 1, 0);
}

test('says what there is and what came, the same before and after days are summed up', async () => {
  await seed();
  const before = await readStored(db, null);
  expect(before).toMatchObject({
    count: 45,
    bytes: 450,
    stored_bytes: 180,
    hot_count: 15,
    cold_count: 30,
    tenants: 2,
    counted_from: addDays(await today(), -3),
    today: { count: 8, week_ago: null },
  });
  expect(lastDays(before.days.count, 5)).toEqual([0, 25, 12, 0, 8]);
  expect(before.days.count).toHaveLength(90);
  expect(lastDays(before.days.hot_count, 2)).toEqual([null, 15]);
  expect(byTenant(before)).toEqual({ TX: [21, 12, 0, 7], CA: [4, 0, 0, 1] });
  expect(before.hours.count.slice(96 + 12, 96 + 14)).toEqual([24, 1]);

  await sumStored(db);
  const after = await readStored(db, null);
  // What was hot and cold is known for yesterday now, or still for the day before if midnight was a moment ago.
  const { hot_count, cold_count, ...days } = after.days;
  expect(hot_count.filter((each) => each !== null)).toEqual([15, 15]);
  expect(cold_count.filter((each) => each !== null)).toEqual([30, 30]);
  expect({ ...after, days }).toEqual({
    ...before,
    days: { from: before.days.from, count: before.days.count },
  });
  const rows = await db.query(sql`select * from stored_days order by tenant, day`);
  await sumStored(db);
  expect(await db.query(sql`select * from stored_days order by tenant, day`)).toEqual(rows);
});

test('shows a caller only the tenants in reach, before and after', async () => {
  await seed();
  const before = await readStored(db, ['CA', 'NM']);
  expect(before).toMatchObject({ count: 5, cold_count: 0, tenants: 1, today: { count: 1 } });
  expect(lastDays(before.days.count, 4)).toEqual([4, 0, 0, 1]);
  expect(byTenant(before)).toEqual({ CA: [4, 0, 0, 1] });
  await sumStored(db);
  const { days, ...after } = await readStored(db, ['CA', 'NM']);
  expect({ ...after, days: days.count }).toEqual({ ...before, days: before.days.count });
  expect(await readStored(db, [])).toMatchObject({ count: 0, counted_from: null });
});

test('compares today with the same day a week ago, up to the same time', async () => {
  await count('TX', 9, 1);
  await count('TX', 7, 24, 23);
  await count('TX', 7, 6, 0);
  await sumStored(db);
  const { hours, today: compared } = await readStored(db, null);
  // The first hour of that day counts as far as the present one has come, if it is the first of today.
  const isFirstHour = hours.count.length === 7 * 24 + 1;
  const isLastHour = hours.count.length === 8 * 24;
  if (!isFirstHour && !isLastHour) expect(compared.week_ago).toBe(6);
  else expect(compared.week_ago).toBeGreaterThanOrEqual(isFirstHour ? 0 : 6);
});

test('knows nothing of the day on which counting began', async () => {
  await count('TX', 7, 5, 0);
  expect((await readStored(db, null)).today.week_ago).toBeNull();
});

test('names the tenants that sent most, those who fell silent among them', async () => {
  const last = await lastDay();
  for (let number = 0; number < 20; number++) await count(`T${number}`, last, 100 + number);
  await count('SILENT', last + 7, 5000);
  await count('NEW', 0, 1000, new Date((await findTimes(db)).now).getUTCHours());
  await sumStored(db);
  const { tenants } = (await readStored(db, null)).by_tenant;
  expect(tenants).toHaveLength(12);
  expect(tenants.map(({ tenant }) => tenant).slice(0, 3)).toEqual(['SILENT', 'NEW', 'T19']);
});

test('sums up once, whoever tries at the same time', async () => {
  await seed();
  await Promise.all(Array.from({ length: 4 }, () => sumStored(db)));
  const [sums] = await db.query(sql`
    select sum(count)::int as count from stored_hours where tenant = ''`);
  // Without the present hour and, for a quarter of an hour, the one before.
  expect(sums).toEqual({ count: 37 + ((await liveCount()) === 0 ? 8 : 0) });
});

/** What was stored in hours that are not summed up yet. */
async function liveCount(): Promise<number> {
  const [live] = await db.query<{ count: number }>(sql`
    select coalesce(sum(count), 0)::int as count from stored_hours
    where tenant <> '' and hour not in (select hour from stored_hours where tenant = '')`);
  return live?.count ?? 0;
}

test('forgets hours after nine days, and days after a hundred', async () => {
  for (const daysAgo of [200, 12, 10, await lastDay()]) await count('TX', daysAgo, 1);
  await sumStored(db);
  const hours = await db.query(sql`select from stored_hours where tenant = 'TX'`);
  const days = await db.query(sql`select from stored_days where tenant = 'TX' and count > 0`);
  expect([hours.length, days.length]).toEqual([1, 3]);
  expect((await readStored(db, null)).counted_from).toBe(addDays(await today(), -12));
});

testOnOneServer('reads as many blocks with a hundred times as many leaves', async () => {
  await seed();
  await sumStored(db);
  const addLeaves = (from: number, to: number) =>
    db.query(sql`
      insert into leaf_days (tenant, store, day, count, bytes, digest, first_at, last_at)
      select 'TX', 'S' || n, '2001-01-01'::date + n % 365, 1, 1, 0, now(), now()
      from generate_series(${from}::int, ${to}::int) n`);
  await addLeaves(1, 100);
  const few = await blocksOf(db, (counted) => readStored(counted, null));
  await addLeaves(101, 10_000);
  const many = await blocksOf(db, (counted) => readStored(counted, null));
  expect(few.stored_hours).toBeGreaterThan(0);
  expect(many).toEqual(few);
});

import sql, { raw, type Sql } from 'sql-template-tag';
import { dayAfter } from '../../kernel/day.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import type { DayTriple, NewSegment, StoreDay } from './segment.ts';

/** The days from the first to the last, both inclusive, as `YYYY-MM-DD`. */
export type DayRange = { tenant: string; firstDay: string; lastDay: string };
export type StoreRange = DayRange & { store: string };

/** The sum of digests, from 0 to 2⁶⁴ − 1: those of single records are signed, so that their sum may be negative. */
export const digestSum = raw(
  'mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616)',
);

/** Whether the catalogue holds the segment: one that was replaced goes from it before its object is removed. */
export async function isLiveSegment(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
): Promise<boolean> {
  const rows = await db.query(
    sql`select 1 as one from segments where tenant = ${tenant} and id = ${id}`,
  );
  return rows.length > 0;
}

/** Returns what is hot on these days by the counters of the snapshot, in the order of the keys. */
export async function listHotDays(db: Queryable, range: DayRange): Promise<DayTriple[]> {
  return db.query<DayTriple>(sql`
    select store, day::text as day, count - cold_count as count, bytes - cold_bytes as bytes,
      mod(digest - cold_digest + 18446744073709551616, 18446744073709551616) as digest
    from leaf_days
    where tenant = ${range.tenant} and day between ${range.firstDay}::date and ${range.lastDay}::date
      and has_hot
    order by store, day`);
}

/** Returns the hot records of whole days of a store in key order, for COPY. Constants bound the partitions planned. */
export function selectHotRows(range: StoreRange): Sql {
  return sql`
    select store, (extract(epoch from occurred_at) * 1000000)::bigint as occurred_us,
      ${oneLine('event_id')}, (extract(epoch from recorded_at) * 1000000)::bigint as recorded_us,
      ${oneLine('kind')}, ${oneLine('source')}, ${oneLine('model')}, confidence, bytes, enrichment
    from enrichment_records record
    where tenant = ${range.tenant} and store = ${range.store}
      and occurred_at >= ${`${range.firstDay}T00:00:00Z`}::timestamptz
      and occurred_at < ${`${dayAfter(range.lastDay)}T00:00:00Z`}::timestamptz
    order by record.occurred_at, record.event_id`;
}

/**
 * Makes SQL for text without line breaks: U+0001 and a letter stand for a line break, and U+0001 with `e` stands for
 * U+0001 itself. The other columns never have line breaks; enrichment is compact JSON. `column` must be code and never
 * input.
 */
function oneLine(column: string): Sql {
  const has = (code: number) => `strpos(${column}, chr(${code})) > 0`;
  return raw(`case when ${has(10)} or ${has(13)} or ${has(1)} then
    replace(replace(replace(${column}, chr(1), chr(1) || 'e'), chr(10), chr(1) || 'n'), chr(13), chr(1) || 'r')
    else ${column} end as ${column}`);
}

/** Prepares a transaction that reads much: statements may take ten minutes, and reads follow the key. */
export async function allowLongStatements(connection: Connection): Promise<void> {
  await connection.client.query(
    `set local statement_timeout = '10min'; set local enable_sort = off`,
  );
}

/** The counters of a locked day: all its records, and those of them that lie in segments. */
export type LockedDay = DayTriple & {
  readonly cold_count: number;
  readonly cold_bytes: number;
  readonly cold_digest: string;
};

/** Locks the counters of these days until the end of the transaction, in the order of their keys, and returns them. */
export async function lockDays(
  connection: Connection,
  tenant: string,
  days: readonly StoreDay[],
): Promise<LockedDay[]> {
  return connection.query<LockedDay>(sql`
    select counter.store, counter.day::text as day, counter.count, counter.bytes, counter.digest,
      counter.cold_count, counter.cold_bytes, counter.cold_digest
    from ${givenRows('touched', days, { store: 'text', day: 'date' })}
    join leaf_days counter on counter.tenant = ${tenant} and counter.store = touched.store
      and counter.day = touched.day
    order by counter.store, counter.day for update of counter`);
}

/** Lists what live segments hold by store and day, as the catalogue has it. */
export async function listDaysOfSegments(
  db: Queryable,
  tenant: string,
  ids: readonly string[],
): Promise<DayTriple[]> {
  return db.query<DayTriple>(sql`
    select store, day::text as day, count, bytes, digest from segment_days
    where tenant = ${tenant} and segment_id = any(${ids}) order by store, day`);
}

export type StoredDay = DayTriple & { readonly stored_bytes: number };

/** Removes segments from the catalogue. Returns the ids that were there, and what they held by store and day. */
export async function deleteSegments(
  db: Queryable,
  tenant: string,
  ids: readonly string[],
): Promise<{ ids: string[]; days: StoredDay[] }> {
  const days = await db.query<StoredDay>(sql`
    with gone as (
      delete from segment_days where tenant = ${tenant} and segment_id = any(${ids})
      returning store, day, count, bytes, digest, stored_bytes
    ) select store, day::text as day, count, bytes, digest, stored_bytes from gone`);
  const segments = await db.query<{ id: string }>(sql`
    delete from segments where tenant = ${tenant} and id = any(${ids}) returning id`);
  return { ids: segments.map(({ id }) => id), days };
}

export async function insertSegment(
  db: Queryable,
  tenant: string,
  segment: Omit<NewSegment, 'days'> & {
    count: number;
    bytes: number;
    digest: string;
    first_day: string;
    last_day: string;
  },
): Promise<void> {
  await db.query(sql`
    insert into segments (tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day,
      pieces, event_filter)
    values (${tenant}, ${segment.id}, ${segment.object_key}, ${segment.size_bytes}, ${segment.sha256},
      ${segment.count}, ${segment.bytes}, ${segment.digest}::numeric, ${segment.first_day}::date,
      ${segment.last_day}::date, ${segment.pieces && JSON.stringify(segment.pieces)}::json,
      ${segment.eventFilter})`);
}

export async function insertSegmentDays(
  db: Queryable,
  segment: { tenant: string; id: string },
  days: readonly (NewSegment['days'][number] & { stored_bytes: number })[],
): Promise<void> {
  const types = {
    store: 'text',
    day: 'date',
    first_row: 'bigint',
    count: 'bigint',
    bytes: 'bigint',

    digest: 'numeric',
    stored_bytes: 'bigint',
    first_at: 'timestamptz',
    last_at: 'timestamptz',
  };
  await db.query(sql`
    insert into segment_days (tenant, segment_id, store, day, first_row, count, bytes, digest, stored_bytes,
      first_at, last_at)
    select ${segment.tenant}, ${segment.id}, store, day, first_row, count, bytes, digest, stored_bytes,
      first_at, last_at
    from ${givenRows('given', days, types)}`);
}

type CounterKey = { readonly store?: string; readonly day?: string; readonly month?: string };

/** What a change of segments adds to a counter: to its cold part, and by new records also to its total. */
export type CounterChange = CounterKey & {
  readonly count: number;
  readonly bytes: number;
  /** Decimal text mod 2^64, as is cold_digest. */
  readonly digest: string;
  readonly cold_count: number;
  readonly cold_bytes: number;
  readonly cold_digest: string;
  readonly cold_stored_bytes: number;
};

/** The tables of counters with their keys, in whose order all who change counters lock them. */
export const counterKeys = {
  leaf_days: ['tenant', 'store', 'day'],
  leaf_months: ['tenant', 'store', 'month'],
  leaf_stores: ['tenant', 'store'],
  tenant_days: ['tenant', 'day'],
  tenant_months: ['tenant', 'month'],
  leaf_tenants: ['tenant'],
} as const;
export type CounterTable = keyof typeof counterKeys;

export type CounterChanges<Change = CounterChange> = {
  readonly tenant: string;
  /** One change for each counter, in any order. */
  readonly changes: readonly Change[];
};

/**
 * Returns the changes as a table `change` with the key and these columns, and the condition that joins it with `counter`.
 * The tenant stands in it as a value, too: only so does Citus see that one worker has all that is locked or changed.
 */
function givenChanges(
  table: CounterTable,
  { tenant, changes }: CounterChanges,
  columns: { readonly [column in keyof CounterAddition]?: string } = {},
) {
  const key = counterKeys[table];
  const keyTypes = key.map((column) => [column, column === 'day' ? 'date' : 'text'] as const);
  const rows = changes.map((change) => ({ ...change, tenant }));
  const change = givenRows('change', rows, { ...Object.fromEntries(keyTypes), ...columns });
  const isSame = key.map((column) => `counter.${column} = change.${column}`).join(' and ');
  return { key, change, condition: sql`counter.tenant = ${tenant} and ${raw(isSame)}` };
}

/** Locks counters in the order of their keys, as ingest does, so that no two transactions wait in a circle. */
export async function lockCounters(
  connection: Connection,
  table: CounterTable,
  counters: CounterChanges,
): Promise<void> {
  const { key, change, condition } = givenChanges(table, counters);
  await connection.query(sql`
    select counter.tenant from ${change} join ${raw(table)} counter on ${condition}
    order by ${raw(key.map((column) => `counter.${column}`).join(', '))} for update of counter`);
}

/** Locks the counters of days as `lockDays`, and makes those that are missing, to be counted in the transaction. */
export async function openDays(
  connection: Connection,
  tenant: string,
  days: readonly TimedDay[],
): Promise<LockedDay[]> {
  const types = { store: 'text', day: 'date', first_at: 'timestamptz', last_at: 'timestamptz' };
  return connection.query<LockedDay>(sql`
    insert into leaf_days as counter (tenant, store, day, count, bytes, digest, first_at, last_at)
    select ${tenant}, store, day, 0, 0, 0, first_at, last_at
    from ${givenRows('opened', days, types)} order by store, day
    on conflict (tenant, store, day) do update set count = counter.count
    returning store, day::text as day, count, bytes, digest, cold_count, cold_bytes, cold_digest`);
}

type TimedDay = StoreDay & { readonly first_at: string; readonly last_at: string };

/** What new records add to a counter above days, whose times only widen. */
export type CounterAddition = CounterChange & Omit<TimedDay, keyof StoreDay>;

/** Adds new records to counters, and makes those that are missing. It locks them in the order of their keys. */
export async function addToCounters(
  connection: Connection,
  table: Exclude<CounterTable, 'leaf_days'>,
  counters: CounterChanges<CounterAddition>,
): Promise<void> {
  const types = { ...sumTypes, digest: 'numeric', first_at: 'timestamptz', last_at: 'timestamptz' };
  const { key, change } = givenChanges(table, counters, types);
  const columns = raw([...key, ...Object.keys(types)].join(', '));
  const added = sums.map((column) => `${column} = counter.${column} + excluded.${column}`);
  const keys = raw(key.join(', '));
  await connection.query(sql`
    insert into ${raw(table)} as counter (${columns})
    select ${columns} from ${change} order by ${keys}
    on conflict (${keys}) do update set ${raw(added.join(', '))},
      digest = mod(counter.digest + excluded.digest, 18446744073709551616),
      first_at = least(counter.first_at, excluded.first_at),
      last_at = greatest(counter.last_at, excluded.last_at)`);
}

const sumTypes = {
  count: 'bigint',
  bytes: 'bigint',
  cold_count: 'bigint',
  cold_bytes: 'bigint',
  cold_stored_bytes: 'bigint',
};
const sums = Object.keys(sumTypes);

/** Adds to locked counters. Returns how many exist, and how many make no sense now, as a cold count above all. */
export async function changeCounters(
  connection: Connection,
  table: CounterTable,
  counters: CounterChanges,
): Promise<{ found: number; wrong: number }> {
  const digests = { digest: 'numeric', ...(table === 'leaf_days' && { cold_digest: 'numeric' }) };
  const { change, condition } = givenChanges(table, counters, { ...sumTypes, ...digests });
  const assignments = [
    ...sums.map((column) => `${column} = counter.${column} + change.${column}`),
    ...Object.keys(digests).map(
      (column) => `${column} = mod(counter.${column} + change.${column}, 18446744073709551616)`,
    ),
  ];
  const rows = await connection.query<{ found: number; wrong: number }>(sql`
    with changed as (
      update ${raw(table)} counter set ${raw(assignments.join(', '))}
      from ${change}
      where ${condition}
      returning counter.count, counter.bytes, counter.cold_count, counter.cold_bytes,
        counter.cold_stored_bytes
    )
    select count(*) as found, count(*) filter (where cold_count < 0 or cold_count > count
      or cold_bytes < 0 or cold_bytes > bytes or cold_stored_bytes < 0) as wrong from changed`);
  return rows[0] ?? { found: 0, wrong: 0 };
}

/** Deletes counters that are locked and count no records any more. */
export async function deleteEmptyCounters(
  connection: Connection,
  table: CounterTable,
  counters: CounterChanges,
): Promise<void> {
  const { change, condition } = givenChanges(table, counters);
  await connection.query(sql`
    delete from ${raw(table)} counter using ${change} where ${condition} and counter.count = 0`);
}

/** Finds first and last times anew after records left: of days from both tiers, else from the level below. */
export async function renewTimes(
  connection: Connection,
  table: CounterTable,
  counters: CounterChanges,
): Promise<void> {
  if (table === 'tenant_days') return renewTenantDays(connection, counters);
  const { key, change, condition } = givenChanges(table, counters);
  await connection.query(sql`
    update ${raw(table)} counter set first_at = change.first_at, last_at = change.last_at
    from (
      select ${raw(key.join(', '))}, min(times.first_at) as first_at, max(times.last_at) as last_at
      from ${change} cross join lateral (${timesBelow[table](counters.tenant)}) times
      group by ${raw(key.join(', '))}
    ) change
    where ${condition} and change.first_at is not null`);
}

const timesBelow: Record<Exclude<CounterTable, 'tenant_days'>, (tenant: string) => Sql> = {
  leaf_days: (tenant) => sql`
    select below.first_at, below.last_at from segment_days below
    where below.tenant = ${tenant} and below.store = change.store and below.day = change.day
    union all
    select min(below.occurred_at), max(below.occurred_at) from enrichment_records below
    where below.tenant = ${tenant} and below.store = change.store
      and below.occurred_at >= change.day::timestamp at time zone 'UTC'
      and below.occurred_at < (change.day + 1)::timestamp at time zone 'UTC'`,
  leaf_months: (tenant) => sql`
    select below.first_at, below.last_at from leaf_days below
    where below.tenant = ${tenant} and below.store = change.store
      and below.day >= (change.month || '-01')::date
      and below.day < ((change.month || '-01')::date + interval '1 month')::date`,
  leaf_stores: (tenant) => sql`
    select below.first_at, below.last_at from leaf_months below
    where below.tenant = ${tenant} and below.store = change.store`,
  tenant_months: (tenant) => sql`
    select below.first_at, below.last_at from tenant_days below
    where below.tenant = ${tenant} and below.day >= (change.month || '-01')::date
      and below.day < ((change.month || '-01')::date + interval '1 month')::date`,
  leaf_tenants: (tenant) => sql`
    select below.first_at, below.last_at from leaf_stores below where below.tenant = ${tenant}`,
};

/** The same for the days of a tenant, in one pass: no index leads from a day to its stores. */
async function renewTenantDays(
  connection: Connection,
  { tenant, changes }: CounterChanges,
): Promise<void> {
  const days = changes.flatMap(({ day }) => (day === undefined ? [] : [day])).sort();
  await connection.query(sql`
    update tenant_days counter set first_at = change.first_at, last_at = change.last_at
    from (
      select below.day, min(below.first_at) as first_at, max(below.last_at) as last_at
      from leaf_days below join unnest(${days}::date[]) as changed(day) on changed.day = below.day
      where below.tenant = ${tenant} and below.day between ${days[0]}::date and ${days.at(-1)}::date
      group by below.day
    ) change
    where counter.tenant = ${tenant} and counter.day = change.day`);
}

/** A span of time of a store, the end excluded. */
export type HotSpan = { readonly store: string; readonly from: string; readonly until: string };

/** Deletes the hot rows of these spans. Returns of each how many there were. */
export async function deleteHotSpans(
  connection: Connection,
  tenant: string,
  spans: readonly HotSpan[],
): Promise<number[]> {
  const start = spans.reduce((least, { from }) => (from < least ? from : least), '9');
  const end = spans.reduce((most, { until }) => (until > most ? until : most), '');
  const given = spans.map(({ store, from, until }, index) => ({
    store,
    since: from,
    until,
    index,
  }));
  const types = { store: 'text', since: 'timestamptz', until: 'timestamptz', index: 'int' };
  const rows = await connection.query<{ index: number; count: number }>(sql`
    with gone as (
      delete from enrichment_records record using ${givenRows('span', given, types)}
      where record.tenant = ${tenant} and record.store = span.store collate "C"
        and record.occurred_at >= ${start}::timestamptz and record.occurred_at < ${end}::timestamptz
        and record.occurred_at >= span.since and record.occurred_at < span.until
      returning span.index
    ) select index, count(*) as count from gone group by index`);
  const counts = new Map(rows.map(({ index, count }) => [index, count]));
  return spans.map((_, index) => counts.get(index) ?? 0);
}

/** Deletes hot rows by their keys, which must all belong to one day of one store. Returns how many there were. */
export async function deleteHotKeys(
  connection: Connection,
  keys: { tenant: string; store: string; day: string; occurredAt: string[]; eventIds: string[] },
): Promise<number> {
  const rows = await connection.query<{ count: number }>(sql`
    with gone as (
      delete from enrichment_records record
      using unnest(${keys.occurredAt}::timestamptz[], ${keys.eventIds}::text[]) as key(occurred_at, event_id)
      where record.tenant = ${keys.tenant} and record.store = ${keys.store}
        and record.occurred_at >= ${`${keys.day}T00:00:00Z`}::timestamptz
        and record.occurred_at < ${`${keys.day}T00:00:00Z`}::timestamptz + interval '1 day'
        and record.occurred_at = key.occurred_at and record.event_id = key.event_id collate "C"
      returning 1
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

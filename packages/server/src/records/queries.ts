import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { isOfStores, tenantsIn } from '../kernel/actor.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { DatasetRow, MonthSum } from './contract.ts';
import { digestSum } from './segments/queries.ts';
import { emptyTriple, type Triple } from './segments/segment.ts';
import {
  dayTable,
  fromDays,
  fromRecords,
  labelConditions,
  recordConditions,
  tenantConditions,
  where,
} from './slice/queries.ts';
import { type Slice, unfiltered } from './slice/slice.ts';
import type { Level } from './values.ts';

/** The counters of one row of the tree. The digest is decimal text. */
export type DatasetCounters = Pick<
  DatasetRow,
  'tenant' | 'store' | 'month' | 'count' | 'bytes' | 'digest' | 'first_at' | 'last_at'
> & {
  /** How many of the records lie in segments, their bytes, and the bytes that they take there. */
  cold_count: number;
  cold_bytes: number;
  cold_stored_bytes: number;
};

type DatasetFilter = {
  tenant?: string | undefined;
  store?: string | undefined;
  month?: string | undefined;
  /** The prefix of the name at the level. */
  q?: string | undefined;
  /** The tenants that the caller reaches, or the stores; null means all. */
  tenants: readonly string[] | null;
};

/** Returns the rows of one level that follow `after` (the names of the last row seen), in the order of their keys. */
export async function listDatasets(
  db: Queryable,
  level: Level,
  filter: DatasetFilter,
  page: { after: readonly string[] | null; limit: number },
): Promise<DatasetCounters[]> {
  const key = levelKeys[level];
  const conditions = [
    ...datasetConditions(filter, raw(level)),
    ...(page.after === null ? [] : [after(key, page.after)]),
  ];
  const table = datasetTable(level, filter);
  const columns = join(key.map((column) => raw(column)));
  const isSum = level === 'tenant' && isOfSomeStores(filter);
  return db.query<DatasetCounters>(sql`
    select tenant, ${raw(level === 'tenant' ? 'null' : 'store')} as store,
      ${raw(level === 'month' ? 'month' : 'null')} as month,
      ${isSum ? sums : counters}
    from ${raw(table)} ${where(conditions)}
    ${isSum ? sql`group by tenant` : empty} order by ${columns} limit ${page.limit}`);
}

/** Sums the counters of each month over these tenants, the oldest month first. */
export async function sumMonths(
  db: Queryable,
  filter: Pick<DatasetFilter, 'tenant' | 'tenants'>,
): Promise<MonthSum[]> {
  return db.query<MonthSum>(sql`
    select month, sum(count - cold_count)::bigint as hot_count,
      sum(bytes - cold_bytes)::bigint as hot_bytes, sum(cold_count)::bigint as cold_count,
      sum(cold_bytes)::bigint as cold_bytes
    from ${raw(isOfSomeStores(filter) ? 'leaf_months' : 'tenant_months')} ${where(reachConditions(filter))}
    group by month having sum(count) > 0 order by month`);
}

const levelKeys = {
  tenant: ['tenant'],
  store: ['tenant', 'store'],
  month: ['tenant', 'store', 'month'],
} as const satisfies Record<Level, readonly string[]>;

/** Returns the smallest table of counters that still has the columns that are filtered on. */
function datasetTable(level: Level, filter: DatasetFilter): string {
  const isOfAll = level === 'tenant' && !isOfSomeStores(filter);
  if (isOfAll) return filter.month === undefined ? 'leaf_tenants' : 'tenant_months';
  if (level === 'month' || filter.month !== undefined) return 'leaf_months';
  return 'leaf_stores';
}

/** Whether only some stores of a tenant are summed, so that the counters of the tenant would tell of the others. */
function isOfSomeStores({ store, tenants }: Pick<DatasetFilter, 'store' | 'tenants'>): boolean {
  return store !== undefined || isOfStores(tenants);
}

/** The conditions of a tenant and a store, and of what the caller reaches. */
function reachConditions(filter: DatasetFilter): Sql[] {
  const { tenants: names } = filter;
  if (!isOfStores(names)) return tenantConditions(filter);
  const ofTenants = tenantConditions({ ...filter, tenants: tenantsIn(names) });
  // The stores alone are what the indexes have.
  const stores = names.map((name) => name.slice(name.indexOf('/') + 1));
  return [
    ...ofTenants,
    sql`store = any(${stores}::text[])`,
    sql`tenant || '/' || store = any(${[...names]}::text[])`,
  ];
}

const counters = sql`count, bytes, digest, ${instantText('first_at')} as first_at,
  ${instantText('last_at')} as last_at, cold_count, cold_bytes, cold_stored_bytes`;
const sums = sql`sum(count)::bigint as count, sum(bytes)::bigint as bytes,
  mod(sum(digest), 18446744073709551616) as digest,
  ${instantText('min(first_at)')} as first_at, ${instantText('max(last_at)')} as last_at,
  sum(cold_count)::bigint as cold_count, sum(cold_bytes)::bigint as cold_bytes,
  sum(cold_stored_bytes)::bigint as cold_stored_bytes`;

function datasetConditions(filter: DatasetFilter, name: Sql): Sql[] {
  const conditions = reachConditions(filter);
  if (filter.month !== undefined) conditions.push(sql`month = ${filter.month}`);
  if (filter.q !== undefined) {
    // U+10FFFF is the last character in the order of bytes, so this finds every name that begins with the prefix.
    conditions.push(sql`${name} >= ${filter.q} and ${name} <= ${`${filter.q}\u{10FFFF}`}`);
  }
  return conditions;
}

/**
 * Lists the days of each leaf that have records as one text: `0:12,3:7`, as a row for each took twice the time. It
 * groups by tenant, because a cluster hands on a lateral join only if a worker can answer it alone.
 */
export async function listLeafDays(
  db: Queryable,
  leaves: readonly { tenant: string; store: string; month: string }[],
): Promise<{ leaf: number; days: string }[]> {
  return db.query(sql`
    select leaf.number::int as leaf, counted.days
    from unnest(${leaves.map((leaf) => leaf.tenant)}::text[], ${leaves.map((leaf) => leaf.store)}::text[],
      ${leaves.map((leaf) => `${leaf.month}-01`)}::date[]) with ordinality
      as leaf(tenant, store, first_day, number)
    cross join lateral (
      select string_agg((d.day - leaf.first_day) || ':' || d.count, ',') as days from leaf_days d
      where d.tenant = leaf.tenant and d.store = leaf.store
        and d.day >= leaf.first_day and d.day < (leaf.first_day + interval '1 month')::date
      group by d.tenant
    ) counted`);
}

/**
 * Lists the months of each given store, as one text: `2001-01,2001-03`. For 500 stores of 100 months it takes 10 ms, so
 * that a page has it only when asked. Counting the months would take as long, since it reads the same index.
 */
export async function listStoreMonths(
  db: Queryable,
  stores: readonly { tenant: string; store: string }[],
): Promise<{ store: number; months: string }[]> {
  return db.query(sql`
    select page.number::int as store, own.months
    from unnest(${stores.map(({ tenant }) => tenant)}::text[], ${stores.map(({ store }) => store)}::text[])
      with ordinality as page(tenant, store, number)
    cross join lateral (
      select string_agg(m.month, ',' order by m.month) as months from leaf_months m
      where m.tenant = page.tenant and m.store = page.store
      group by m.tenant
    ) own`);
}

/** What the counters of days add up to. The digest is decimal text. */
export type DaySums = Triple &
  Pick<DatasetCounters, 'cold_count' | 'cold_bytes' | 'cold_stored_bytes'>;

/** Returns what the days of a slice have, of any kind, from their counters. */
export async function sumLeafDays(db: Queryable, slice: Slice): Promise<DaySums> {
  const [sums] = await db.query<DaySums>(sql`
    select coalesce(sum(count), 0)::bigint as count, coalesce(sum(bytes), 0)::bigint as bytes,
      mod(coalesce(sum(digest), 0), 18446744073709551616)::text as digest,
      coalesce(sum(cold_count), 0)::bigint as cold_count, coalesce(sum(cold_bytes), 0)::bigint as cold_bytes,
      coalesce(sum(cold_stored_bytes), 0)::bigint as cold_stored_bytes
    ${fromDays(dayTable(slice), slice)}`);
  if (sums === undefined) throw new Error('the counters of days could not be summed');
  return sums;
}

/** Returns of these sums what proves that a copy is complete. */
export async function sumTriple(db: Queryable, slice: Slice): Promise<Triple> {
  const { count, bytes, digest } = await sumLeafDays(db, slice);
  return { count, bytes, digest };
}

/** Counts and sums the hot records of a slice for which the counters cannot answer. */
export async function sumRecords(db: Queryable, slice: Slice): Promise<Triple> {
  const rows = await db.query<Triple>(
    sql`
    select count(*) as count, coalesce(sum(bytes), 0)::bigint as bytes,
      coalesce(${digestSum}, 0)::text as digest
    ${fromRecords(slice)}`,
    plannedFor(slice),
  );
  return rows[0] ?? emptyTriple;
}

/** A record as text. Answers are put together from it, and every value stays spelled as it was sent. */
export type RecordRow = {
  tenant: string;
  store: string;
  event_id: string;
  occurred_at: string;
  recorded_at: string;
  kind: string | null;
  source: string | null;
  model: string | null;
  confidence: string | null;
  bytes: number;
  enrichment: string;
};

/** The identity of a record, which is also its place in the order of reading: tenant, store, occurred_at, event_id. */
export type RecordKey = readonly [string, string, string, string];

/** How records of a table are read; `ScanOptions` of tier.ts is what is asked of a tier. */
export type RowScan = {
  /** The record after which reading goes on. With `isInclusive` it begins at that record itself. */
  after: RecordKey | null;
  isInclusive?: boolean | undefined;
  descending: boolean;
  /** Only the records of a tenant between these times are read, both inclusive, in the order of time. */
  times?: Times | undefined;
  limit: number;
  /** Only these parts of the slice are read. They must come in the order of reading. */
  stretches?: readonly Stretch[] | undefined;
};

/** How many records a page looks at that filters by what only they tell, and with a `where` how many bytes of them. */
type FilteredScan = RowScan & { scanLimit: number; scanBytes: number };

export type Times = { readonly first_at: string; readonly last_at: string };

/** The records of a store from one time to another, both inclusive, and none before the cursor's time. */
export type Stretch = {
  readonly store: string;
  readonly first_at: string;
  readonly last_at: string;
};

export const recordColumns = sql`tenant, store, event_id, ${instantText('occurred_at')} as occurred_at,
  ${instantText('recorded_at')} as recorded_at, kind, source, model, confidence, bytes,
  enrichment::text as enrichment`;

/** A page holds at most this many bytes of records, but at least one record: 500 large ones would be 128 MB. */
export const pageBytes = 8 * 1024 * 1024;

/** Returns one page of a slice, in the order of the keys or in reverse. It ends early when `pageBytes` are reached. */
export async function listRecords(
  db: Queryable,
  slice: Slice,
  options: RowScan,
): Promise<RecordRow[]> {
  const page = sql`${scanRows(slice, options)} limit ${options.limit}`;
  return db.query<RecordRow>(
    sql`select ${recordColumns} from ${fittingBytes(page, slice, options)}`,
    plannedFor(slice),
  );
}

/**
 * Returns the records of a page that filters by what only they themselves tell. It looks at `scanLimit` rows and then ends,
 * even if none of them fits: otherwise a rare label would make one page read a whole slice. `end` is the last record that
 * it looked at, and `looked` its number; null at the end of the slice, and where the page is full.
 */
export async function listFitting(
  db: Queryable,
  slice: Slice,
  options: FilteredScan,
): Promise<{ rows: RecordRow[]; end: RecordKey | null; looked: number }> {
  const { limit, scanLimit, scanBytes } = options;
  const before = sql`over (order by ${recordOrder(slice, options)} rows unbounded preceding)`;
  const ends = [sql`number = ${raw(String(scanLimit))}`];
  // A `where` reads each record whole, so a page looks at fewer if they are large.
  const isOfBytes = slice.where !== undefined;
  if (isOfBytes) ends.push(sql`looked_before + bytes >= ${scanBytes}`);
  // `offset 0` asks of each record once, and of none after the last of the page.
  const looked = sql`select *, ${join(labelConditions(slice), ' and ')} as fits, ${join(ends, ' or ')} as is_last
    from (
      select *, sum(bytes) ${before} - bytes as looked_before, row_number() ${before} as number
      from (${scanRows(unfiltered(slice), options)} limit ${raw(String(scanLimit))}) record
    ) record ${isOfBytes ? sql`where looked_before < ${scanBytes}` : empty}
    order by ${recordOrder(slice, options)} offset 0`;
  const page = sql`select * from (${looked}) record where fits or is_last
    order by ${recordOrder(slice, options)} limit ${limit + 1}`;
  type Looked = RecordRow & { fits: boolean | null; is_last: boolean; number: number };
  const found = await db.query<Looked>(
    sql`select ${recordColumns}, fits, is_last, number from ${fittingBytes(page, slice, options)}`,
    plannedFor(slice),
  );
  const rows = found.flatMap(({ fits, is_last: _last, number: _number, ...row }) =>
    fits ? [row] : [],
  );
  const last = found.at(-1);
  const isEnd = rows.length < limit && last?.is_last === true;
  return { rows: rows.slice(0, limit), end: isEnd ? keyOf(last) : null, looked: last?.number ?? 0 };
}

/** Selects the rows of a page that are not beyond its `pageBytes`. */
function fittingBytes(page: Sql, slice: Slice, options: RowScan): Sql {
  const order = recordOrder(slice, options);
  return sql`(
      select *, sum(bytes) over (order by ${order}) - bytes as bytes_before from (${page}) record
    ) record where bytes_before < ${pageBytes} order by ${order}`;
}

/** Every `where` makes another statement, and each that is prepared stays in the memory of its connection. */
function plannedFor(slice: Slice) {
  return { isPlannedAnew: slice.where !== undefined };
}

export function keyOf(row: RecordRow): RecordKey {
  return [row.tenant, row.store, row.occurred_at, row.event_id];
}

/** Returns the hot record with this key; undefined when PostgreSQL has none, even if a segment has it. */
export async function findRecord(db: Queryable, key: RecordKey): Promise<RecordRow | undefined> {
  const [tenant, store, occurredAt, eventId] = key;
  const rows = await db.query<RecordRow>(sql`
    select ${recordColumns} from enrichment_records
    where tenant = ${tenant} and store = ${store} and occurred_at = ${occurredAt} and event_id = ${eventId}`);
  return rows[0];
}

type AnyScan = RowScan & { scanLimit?: number };

/** Returns the records of a slice that follow the cursor, in the order of reading. */
function scanRows(slice: Slice, options: AnyScan): Sql {
  const order = recordOrder(slice, options);
  if (options.times !== undefined) return timeRows(slice, options.times, options);
  if (options.stretches !== undefined) return stretchRows(slice, options.stretches, options);
  return sql`select * from ${scanTable(slice)} record
    ${where(scanConditions(slice, options))} order by ${order}`;
}

/** Where the records of a scan come from. Those of an event are few. */
function scanTable({ eventId }: Slice): Sql {
  return eventId === undefined ? raw('enrichment_records') : sql`records_of_event(${eventId})`;
}

/** Goes from stretch to stretch along the index of the key, so what lies between them costs nothing. */
function stretchRows(slice: Slice, stretches: readonly Stretch[], options: AnyScan): Sql {
  const of = (name: keyof Stretch) => stretches.map((stretch) => stretch[name]);
  const times = [...of('first_at'), ...of('last_at')].sort();
  const conditions = [
    sql`tenant = ${slice.tenant} and store = stretch.store`,
    sql`occurred_at between stretch.first_at and stretch.last_at`,
    // This condition follows from the others, but with it PostgreSQL can leave out whole months.
    sql`occurred_at between ${times[0]}::timestamptz and ${times.at(-1)}::timestamptz`,
  ];
  if (options.after !== null) {
    // The stretches begin at the cursor's time, so only the records of that very time must be told apart. A comparison
    // of rows instead would make PostgreSQL choose a worse index scan.
    const [, store, occurredAt, eventId] = options.after;
    conditions.push(
      sql`(occurred_at <> ${occurredAt}::timestamptz or store <> ${store} or event_id ${beyond(options)} ${eventId})`,
    );
  }
  return sql`select record.* from (
      select store, first_at, last_at, number from unnest(
        ${of('store')}::text[], ${of('first_at')}::timestamptz[], ${of('last_at')}::timestamptz[]
      ) with ordinality as given(store, first_at, last_at, number) order by number
    ) stretch cross join lateral (
      select * from enrichment_records record ${where(conditions)}
      order by ${recordOrder(slice, options)} limit ${innerLimit(options)}
    ) record order by stretch.number, ${recordOrder(slice, options)}`;
}

/** Without a limit, or with a parameter, months would be planned for. A few limits make few prepared statements. */
function innerLimit({ scanLimit, limit }: AnyScan): Sql {
  const wanted = scanLimit ?? limit;
  return raw(String([101, 501, 10_000].find((size) => size >= wanted) ?? wanted));
}

/**
 * Reads all stores of a tenant by time. No index has the records in this order, but the counters say which stores have
 * some between these times, and of each of them the index of the key finds the next ones.
 */
function timeRows(slice: Slice, { first_at, last_at }: Times, options: AnyScan): Sql {
  const between = sql`between ${first_at}::timestamptz and ${last_at}::timestamptz`;
  const days = [
    sql`day between ${first_at.slice(0, 10)}::date and ${last_at.slice(0, 10)}::date`,
    sql`has_hot and last_at >= ${first_at}::timestamptz and first_at <= ${last_at}::timestamptz`,
  ];
  const conditions = [
    sql`tenant = ${slice.tenant} and store = own.store`,
    sql`occurred_at between own.first_at and own.last_at`,
    // This condition bounds all stores, so that PostgreSQL can leave out whole months.
    sql`occurred_at ${between}`,
    ...labelConditions(slice),
  ];
  if (options.after !== null) {
    const [, store, occurredAt, eventId] = options.after;
    conditions.push(
      sql`(occurred_at <> ${occurredAt}::timestamptz or (store, event_id) ${beyond(options)} (${store}, ${eventId}))`,
    );
  }
  return sql`select record.* from (
      select store, first_at, last_at ${fromDays('leaf_days', slice, days)} offset 0
    ) own cross join lateral (
      select * from enrichment_records record ${where(conditions)}
      order by ${recordOrder(slice, { descending: options.descending })} limit ${innerLimit(options)}
    ) record order by ${recordOrder(slice, options)}`;
}

function scanConditions(slice: Slice, options: RowScan): Sql[] {
  const conditions = recordConditions(slice);
  if (options.after === null) return conditions;
  const [tenant, store, occurredAt, eventId] = options.after;
  conditions.push(
    sql`(tenant, store, occurred_at, event_id) ${beyond(options)} (${tenant}, ${store}, ${occurredAt}::timestamptz, ${eventId})`,
  );
  if (slice.tenant !== undefined && slice.store !== undefined) {
    // This repeats the condition in a form that lets PostgreSQL leave out whole months.
    const bound = raw(options.descending ? '<=' : '>=');
    conditions.push(sql`occurred_at ${bound} ${occurredAt}::timestamptz`);
  }
  return conditions;
}

/** The comparison with the key after which reading goes on, or at which it begins. */
function beyond({ descending, isInclusive }: RowScan): Sql {
  return raw((descending ? '<' : '>') + (isInclusive ? '=' : ''));
}

/** The columns are qualified: a bare occurred_at would be the formatted output, which PostgreSQL would have to sort. */
function recordOrder(
  { tenant }: Slice,
  { descending, times }: Pick<RowScan, 'descending' | 'times'>,
): Sql {
  // That of one tenant goes without its name: outside a subquery PostgreSQL would sort by it once more.
  const ofKey = [...(tenant === undefined ? ['tenant'] : []), 'store', 'occurred_at', 'event_id'];
  const columns = times === undefined ? ofKey : ['occurred_at', 'store', 'event_id'];
  return raw(columns.map((column) => `record.${column}${descending ? ' desc' : ''}`).join(', '));
}

function after(columns: readonly string[], values: readonly string[]): Sql {
  return sql`(${raw(columns.join(', '))}) > (${join(values)})`;
}

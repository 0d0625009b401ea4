import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import {
  dayConditions,
  dayTable,
  labelConditions,
  recordConditions,
  tenantConditions,
  where,
} from './slice/queries.ts';
import type { Slice } from './slice/slice.ts';
import type { Level } from './values.ts';

export type DatasetCounters = {
  tenant: string;
  store: string | null;
  month: string | null;
  count: number;
  bytes: number;
  /** Decimal text, 0 … 2^64-1. */
  digest: string;
  first_at: string | null;
  last_at: string | null;
  /** The share that lies in segments, and the bytes it takes there. */
  cold_count: number;
  cold_bytes: number;
  cold_stored_bytes: number;
};

export type DatasetFilter = {
  tenant?: string | undefined;
  store?: string | undefined;
  month?: string | undefined;
  /** Prefix of the name at the level. */
  q?: string | undefined;
  tenants: readonly string[] | null;
};

/** The rows of one level after `after` (the names of the last row seen), in key order. */
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
  const isSum = level === 'tenant' && table !== 'leaf_tenants';
  return db.query<DatasetCounters>(sql`
    select tenant, ${raw(level === 'tenant' ? 'null' : 'store')} as store,
      ${raw(level === 'month' ? 'month' : 'null')} as month,
      ${isSum ? sums : counters}
    from ${raw(table)} ${where(conditions)}
    ${isSum ? sql`group by tenant` : empty} order by ${columns} limit ${page.limit}`);
}

const levelKeys = {
  tenant: ['tenant'],
  store: ['tenant', 'store'],
  month: ['tenant', 'store', 'month'],
} as const satisfies Record<Level, readonly string[]>;

/** The smallest roll-up that still has the columns filtered on. */
function datasetTable(level: Level, filter: DatasetFilter): string {
  if (level === 'month' || filter.month !== undefined) return 'leaf_months';
  return level === 'store' || filter.store !== undefined ? 'leaf_stores' : 'leaf_tenants';
}

const counters = sql`count, bytes, digest, ${instantText('first_at')} as first_at,
  ${instantText('last_at')} as last_at, cold_count, cold_bytes, cold_stored_bytes`;
const sums = sql`sum(count)::bigint as count, sum(bytes)::bigint as bytes,
  mod(sum(digest), 18446744073709551616) as digest,
  ${instantText('min(first_at)')} as first_at, ${instantText('max(last_at)')} as last_at,
  sum(cold_count)::bigint as cold_count, sum(cold_bytes)::bigint as cold_bytes,
  sum(cold_stored_bytes)::bigint as cold_stored_bytes`;

function datasetConditions(filter: DatasetFilter, name: Sql): Sql[] {
  const conditions = tenantConditions(filter);
  if (filter.month !== undefined) conditions.push(sql`month = ${filter.month}`);
  if (filter.q !== undefined) {
    // U+10FFFF is the last character in byte order.
    conditions.push(sql`${name} >= ${filter.q} and ${name} <= ${`${filter.q}\u{10FFFF}`}`);
  }
  return conditions;
}

/**
 * For each of the given leaves its days that have records, as text: `0:12,3:7` = 12 on the first, 7 on
 * the fourth. A row a day took twice the time: 14,000 rows for 500 leaves.
 */
export async function listLeafDays(
  db: Queryable,
  leaves: readonly { tenant: string; store: string; month: string }[],
): Promise<{ leaf: number; days: string | null }[]> {
  return db.query(sql`
    select leaf.number::int as leaf, counted.days
    from unnest(${leaves.map((leaf) => leaf.tenant)}::text[], ${leaves.map((leaf) => leaf.store)}::text[],
      ${leaves.map((leaf) => `${leaf.month}-01`)}::date[]) with ordinality
      as leaf(tenant, store, first_day, number)
    cross join lateral (
      select string_agg((d.day - leaf.first_day) || ':' || d.count, ',') as days from leaf_days d
      where d.tenant = leaf.tenant and d.store = leaf.store
        and d.day >= leaf.first_day and d.day < (leaf.first_day + interval '1 month')::date
    ) counted`);
}

/** Records, bytes and digest (decimal text) of a slice of whole days, from the counters. */
export async function sumLeafDays(
  db: Queryable,
  slice: Slice,
): Promise<{ count: number; bytes: number; digest: string }> {
  const rows = await db.query<{ count: number; bytes: number; digest: string }>(sql`
    select coalesce(sum(count), 0)::bigint as count, coalesce(sum(bytes), 0)::bigint as bytes,
      mod(coalesce(sum(digest), 0), 18446744073709551616)::text as digest
    from ${dayTable(slice)} ${where(dayConditions(slice))}`);
  return rows[0] ?? { count: 0, bytes: 0, digest: '0' };
}

/** Counts and sums the hot records of a slice that the counters cannot tell; digest as decimal text. */
export async function sumRecords(
  db: Queryable,
  slice: Slice,
): Promise<{ count: number; bytes: number; digest: string }> {
  // Stored digests are signed, and so is the remainder of their sum.
  const rows = await db.query<{ count: number; bytes: number; digest: string }>(sql`
    select count(*) as count, coalesce(sum(bytes), 0)::bigint as bytes,
      mod(mod(coalesce(sum(digest), 0), 18446744073709551616) + 18446744073709551616,
        18446744073709551616)::text as digest
    from enrichment_records ${where(recordConditions(slice))}`);
  return rows[0] ?? { count: 0, bytes: 0, digest: '0' };
}

/** A record as text: what the answer is put together from, to the letter. */
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

/** Identity of a record, and its place in the order of reading: tenant, store, occurred_at, event_id. */
export type RecordKey = readonly [string, string, string, string];

export type ScanOptions = {
  /** Read on beyond this record, or from it on. */
  after: RecordKey | null;
  isInclusive?: boolean | undefined;
  descending: boolean;
  limit: number;
  /** Rows looked at behind the filters kind and source, at most; null = no such filter. */
  scanLimit: number | null;
  /** Reads these stretches of the slice only, which come in the order of reading. */
  stretches?: readonly Stretch[] | undefined;
};

/** Records of a store from one time to another, both with; none before the cursor's time. */
export type Stretch = {
  readonly store: string;
  readonly first_at: string;
  readonly last_at: string;
};

const recordColumns = sql`tenant, store, event_id, ${instantText('occurred_at')} as occurred_at,
  ${instantText('recorded_at')} as recorded_at, kind, source, model, confidence, bytes,
  enrichment::text as enrichment`;

/** A page holds so many bytes of records at most, or one record: 500 large ones would be 128 MB. */
export const pageBytes = 8 * 1024 * 1024;

/** One page of a slice, in key order or its reverse; cut short at `pageBytes`. */
export async function listRecords(
  db: Queryable,
  slice: Slice,
  options: ScanOptions,
): Promise<RecordRow[]> {
  const order = recordOrder(options.descending);
  const isFiltered = options.scanLimit !== null;
  const rows = scanRows(isFiltered ? unfiltered(slice) : slice, options);
  const page = isFiltered
    ? sql`select * from (${rows} limit ${options.scanLimit}) record ${where(labelConditions(slice))}
        order by ${order} limit ${options.limit}`
    : sql`${rows} limit ${options.limit}`;
  return db.query<RecordRow>(sql`
    select ${recordColumns} from (
      select *, sum(bytes) over (order by ${order}) - bytes as bytes_before from (${page}) record
    ) record where bytes_before < ${pageBytes} order by ${order}`);
}

/** The last of the `scanLimit` records that a filtered page looked at; undefined at the end of the slice. */
export async function findScanEnd(
  db: Queryable,
  slice: Slice,
  options: ScanOptions & { scanLimit: number },
): Promise<RecordKey | undefined> {
  const rows = await db.query<RecordRow>(sql`
    select tenant, store, ${instantText('occurred_at')} as occurred_at, event_id
    from (${scanRows(unfiltered(slice), options)} offset ${options.scanLimit - 1} limit 1) record`);
  return rows[0] === undefined ? undefined : keyOf(rows[0]);
}

export function keyOf(row: RecordRow): RecordKey {
  return [row.tenant, row.store, row.occurred_at, row.event_id];
}

export async function findRecord(db: Queryable, key: RecordKey): Promise<RecordRow | undefined> {
  const [tenant, store, occurredAt, eventId] = key;
  const rows = await db.query<RecordRow>(sql`
    select ${recordColumns} from enrichment_records
    where tenant = ${tenant} and store = ${store} and occurred_at = ${occurredAt} and event_id = ${eventId}`);
  return rows[0];
}

function unfiltered(slice: Slice): Slice {
  return {
    ...slice,
    kind: undefined,
    source: undefined,
    recordedBefore: undefined,
    split: undefined,
  };
}

/** The records of a slice beyond the cursor, in the order of reading. */
function scanRows(slice: Slice, options: ScanOptions): Sql {
  const order = recordOrder(options.descending);
  if (options.stretches !== undefined) return stretchRows(slice, options.stretches, options);
  return sql`select * from enrichment_records record
    ${where(scanConditions(slice, options))} order by ${order}`;
}

/** Steps from stretch to stretch along the key's index, however much lies between them. */
function stretchRows(slice: Slice, stretches: readonly Stretch[], options: ScanOptions): Sql {
  const of = (name: keyof Stretch) => stretches.map((stretch) => stretch[name]);
  const times = [...of('first_at'), ...of('last_at')].sort();
  const conditions = [
    sql`tenant = ${slice.tenant} and store = stretch.store`,
    sql`occurred_at between stretch.first_at and stretch.last_at`,
    // Says nothing new, but lets PostgreSQL leave out whole months.
    sql`occurred_at between ${times[0]}::timestamptz and ${times.at(-1)}::timestamptz`,
  ];
  if (options.after !== null) {
    // The stretches begin at the cursor's time. As a row comparison it would lead the index scan astray.
    const [, store, occurredAt, eventId] = options.after;
    const isBeyond = raw((options.descending ? '<' : '>') + (options.isInclusive ? '=' : ''));
    conditions.push(
      sql`(occurred_at <> ${occurredAt}::timestamptz or store <> ${store} or event_id ${isBeyond} ${eventId})`,
    );
  }
  // A limit given as a parameter, or none, would make the planner expect whole months of each stretch.
  const wanted = options.scanLimit ?? options.limit;
  const most = raw(String(innerLimits.find((size) => size >= wanted) ?? wanted));
  return sql`select record.* from (
      select store, first_at, last_at, number from unnest(
        ${of('store')}::text[], ${of('first_at')}::timestamptz[], ${of('last_at')}::timestamptz[]
      ) with ordinality as given(store, first_at, last_at, number) order by number
    ) stretch cross join lateral (
      select * from enrichment_records record ${where(conditions)}
      order by ${recordOrder(options.descending)} limit ${most}
    ) record order by stretch.number, ${recordOrder(options.descending)}`;
}

/** Few, so that few statements are prepared. */
const innerLimits = [101, 501, 10_000];

function scanConditions(slice: Slice, options: ScanOptions): Sql[] {
  const conditions = recordConditions(slice);
  if (options.after === null) return conditions;
  const [tenant, store, occurredAt, eventId] = options.after;
  const isBeyond = raw((options.descending ? '<' : '>') + (options.isInclusive ? '=' : ''));
  conditions.push(
    sql`(tenant, store, occurred_at, event_id) ${isBeyond} (${tenant}, ${store}, ${occurredAt}::timestamptz, ${eventId})`,
  );
  if (slice.tenant !== undefined && slice.store !== undefined) {
    // Says the same again in a form that lets PostgreSQL leave out whole months.
    const bound = raw(options.descending ? '<=' : '>=');
    conditions.push(sql`occurred_at ${bound} ${occurredAt}::timestamptz`);
  }
  return conditions;
}

/** Qualified: a bare occurred_at would mean the formatted output column, and sort instead of using the key. */
function recordOrder(descending: boolean): Sql {
  return raw(
    ['tenant', 'store', 'occurred_at', 'event_id']
      .map((column) => `record.${column}${descending ? ' desc' : ''}`)
      .join(', '),
  );
}

function after(columns: readonly string[], values: readonly string[]): Sql {
  return sql`(${raw(columns.join(', '))}) > (${join(values)})`;
}

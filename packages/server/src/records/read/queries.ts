import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { SegmentPiece } from '../segments/pieces.ts';
import type { LiveSegment } from '../segments/segment.ts';
import { dayConditions, dayTable, tenantConditions, where } from '../slice/queries.ts';
import type { DayWindow, Slice } from '../slice/slice.ts';

/** A segment in the catalogue, with all that is needed to open it. */
export type Segment = Omit<LiveSegment, 'id'> & { tenant: string; segment_id: string };

/** Where in a segment the records of a store's day stand. */
export type DayInSegment = Segment & {
  store: string;
  day: string;
  first_row: number;
  count: number;
  bytes: number;
};

/** A day of a store, as a place in the order of reading. */
export type DayKey = readonly [tenant: string, store: string, day: string];

const segmentColumns = sql`segment.object_key, segment.size_bytes, segment.sha256,
  segment.first_day, segment.last_day`;

const dayKey = ['tenant', 'store', 'day'];

/** Days from one to another, both included, in the order of reading or in reverse. */
type DayScan = { from: DayKey | null; to: DayKey | null; descending: boolean; limit: number };

/**
 * Returns the days of a slice that have cold records, from one day to another, both included, in the order of reading.
 * There are at most `limit` of them, but the last day is always complete, although it may lie in several segments.
 */
export async function listSegmentDays(
  db: Queryable,
  slice: Slice,
  options: DayScan,
): Promise<DayInSegment[]> {
  const { from, to, descending, limit } = options;
  const isTagged = slice.dataset !== undefined;
  const conditions = dayConditions({ ...slice, dataset: undefined });
  if (!isTagged && from !== null) conditions.push(beside(from, descending ? '<=' : '>='));
  if (!isTagged && to !== null) conditions.push(beside(to, descending ? '>=' : '<='));
  const days = sql`select tenant, store, day, segment_id, first_row, count, bytes from segment_days
    ${where(conditions)}`;
  const source = isTagged ? byStore(slice, options, days) : sql`(${days})`;
  const scanOrder = isTagged ? ['name', 'day'] : dayKey;
  // A cluster asks only the worker of the tenant when both tables name it, and can answer while another is lost.
  const own = slice.tenant === undefined ? empty : sql`and segment.tenant = ${slice.tenant}`;
  return db.query<DayInSegment>(sql`
    select part.tenant, part.store, part.day, part.segment_id, part.first_row, part.count, part.bytes,
      ${segmentColumns}
    from (
      select * from ${source} found
      order by ${dayOrder('found', scanOrder, descending)} fetch first ${raw(String(limit))} rows with ties
    ) part
    join segments segment on segment.tenant = part.tenant and segment.id = part.segment_id ${own}
    order by ${dayOrder('part', dayKey, descending)}`);
}

/** Returns the pieces of those of the segments that have some in the catalogue. */
export async function listPieces(
  db: Queryable,
  segments: readonly Pick<Segment, 'tenant' | 'segment_id'>[],
): Promise<{ tenant: string; segment_id: string; pieces: SegmentPiece[] }[]> {
  return db.query(sql`
    select segment.tenant, segment.id as segment_id, segment.pieces
    from unnest(${segments.map(({ tenant }) => tenant)}::text[],
      ${segments.map(({ segment_id }) => segment_id)}::text[]) as asked(tenant, id)
    join segments segment on segment.tenant = asked.tenant and segment.id = asked.id
    where segment.pieces is not null`);
}

export type HotDay = { tenant: string; store: string; day: string; count: number };

/** Returns the tagged days of a slice that have hot records, with their numbers, in the order of reading. */
export async function listHotDays(
  db: Queryable,
  slice: Slice,
  options: Omit<DayScan, 'to'>,
): Promise<HotDay[]> {
  const { descending, limit } = options;
  const days = sql`select tenant, store, day, count - cold_count as count from leaf_days
    ${where([
      ...dayConditions({ ...slice, dataset: undefined }),
      sql`has_hot`,
      sql`day between (select first_day from hot) and (select last_day from hot)`,
    ])}`;
  return db.query<HotDay>(sql`
    with hot as materialized (
      select min(day) as first_day, max(day) as last_day from leaf_days
      where tenant = ${slice.tenant} and has_hot
    )
    select tenant, store, day, count from ${byStore(slice, { ...options, to: null }, days)} found
    where (select first_day from hot) is not null
    order by ${dayOrder('found', ['name', 'day'], descending)} limit ${raw(String(limit))}`);
}

/**
 * Selects the tagged days of a slice. They may be few among many, so this looks, store by store, only at the days in
 * each window instead of at all days of the tenant.
 */
function byStore(slice: Slice, scan: Omit<DayScan, 'limit'>, days: Sql): Sql {
  const { descending } = scan;
  const windows = taggedWindows(slice);
  const stores = windows.flatMap((window) => window.store ?? []);
  const storeConditions = tenantConditions(slice);
  if (stores.length === windows.length) storeConditions.push(sql`store = any(${stores})`);
  const conditions = [
    sql`day.store = own.name and day.day >= tagged.first_day and day.day < tagged.until`,
  ];
  for (const [end, bound] of [
    [scan.from, raw(descending ? '<=' : '>=')],
    [scan.to, raw(descending ? '>=' : '<=')],
  ] as const) {
    if (end === null) continue;
    const [, store, day] = end;
    storeConditions.push(sql`store ${bound} ${store}`);
    // A comparison of rows instead would make PostgreSQL choose a worse index scan for the other stores.
    conditions.push(sql`(day.store <> ${store} or day.day ${bound} ${day}::date)`);
  }
  // `offset 0` keeps the three selects apart: if PostgreSQL joined them freely, it would read all days.
  return sql`(
    select own.name, day.* from (
      select store as name from leaf_stores ${where(storeConditions)}
      order by store ${raw(descending ? 'desc' : 'asc')} offset 0
    ) own cross join lateral (
      select day.* from unnest(${windows.map((window) => window.store)}::text[],
        ${windows.map((window) => window.from)}::date[], ${windows.map((window) => window.until)}::date[]
      ) as tagged(store, first_day, until)
      cross join lateral (select * from (${days}) day ${where(conditions)} offset 0) day
      where coalesce(tagged.store, own.name) = own.name offset 0
    ) day
  )`;
}

function dayOrder(table: string, columns: readonly string[], descending: boolean): Sql {
  return raw(columns.map((column) => `${table}.${column}${descending ? ' desc' : ''}`).join(', '));
}

/** Returns the bytes of the cold records on a slice's days, as NDJSON and as they are stored. */
export async function sumColdBytes(
  db: Queryable,
  slice: Slice,
): Promise<{ bytes: number; stored_bytes: number }> {
  const rows = await db.query<{ bytes: number; stored_bytes: number }>(sql`
    select coalesce(sum(cold_bytes), 0)::bigint as bytes,
      coalesce(sum(cold_stored_bytes), 0)::bigint as stored_bytes
    from ${dayTable(slice)} ${where(dayConditions(slice))}`);
  return rows[0] ?? { bytes: 0, stored_bytes: 0 };
}

/** Returns the segments that may hold records of a slice, beginning after one of them (tenant and id). */
export async function listSegmentsOf(
  db: Queryable,
  slice: Slice,
  page: { after: readonly [string, string] | null; limit: number },
): Promise<Segment[]> {
  const conditions = segmentConditions(slice);
  if (page.after !== null) conditions.push(sql`(tenant, id) > (${join([...page.after])})`);
  return db.query<Segment>(sql`
    select segment.tenant, segment.id as segment_id, ${segmentColumns}
    from segments segment ${where(conditions)} order by segment.tenant, segment.id
    limit ${page.limit}`);
}

function beside([tenant, store, day]: DayKey, comparison: string): Sql {
  return sql`(tenant, store, day) ${raw(comparison)} (${tenant}, ${store}, ${day}::date)`;
}

/**
 * Returns the conditions for segments that may hold records of a slice: by their days, and also by their stores when
 * the slice names stores.
 */
function segmentConditions(slice: Slice): Sql[] {
  const { tenant, store, from, until, range, dataset, tags } = slice;
  const conditions = tenantConditions({ ...slice, store: undefined });
  if (from !== undefined) conditions.push(sql`last_day >= ${from}::date`);
  if (until !== undefined) conditions.push(sql`first_day < ${until}::date`);
  if (range !== undefined) {
    conditions.push(sql`last_day >= ${range.minDay}::date and first_day <= ${range.maxDay}::date`);
  }
  const windows = dataset === undefined ? undefined : tags?.[dataset];
  if (windows !== undefined) {
    const each = windows.map(
      (window) => sql`last_day >= ${window.from}::date and first_day < ${window.until}::date`,
    );
    conditions.push(each.length === 0 ? raw('false') : sql`(${join(each, ' or ')})`);
  }
  const isOfStores =
    store !== undefined || windows?.every((window) => window.store !== null) === true;
  if (tenant !== undefined && isOfStores) {
    conditions.push(
      sql`id in (select segment_id from segment_days ${where(dayConditions(slice))})`,
    );
  }
  return conditions;
}

/** Returns the windows in which a slice's tagged days lie, cut to the slice's own store and days. */
export function taggedWindows({ dataset, tags, store, from, until }: Slice): DayWindow[] {
  if (dataset === undefined) throw new Error('the slice has no dataset');
  if (tags === undefined) throw new Error('a slice of a dataset is read without its tags');
  return tags[dataset]
    .filter((window) => store === undefined || window.store === null || window.store === store)
    .map((window) => ({
      store: window.store,
      from: from !== undefined && from > window.from ? from : window.from,
      until: until !== undefined && until < window.until ? until : window.until,
    }))
    .filter((window) => window.from < window.until);
}

import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { compareText } from '../../kernel/names.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import { mayHold } from '../segments/event-filter.ts';
import type { SegmentPiece } from '../segments/pieces.ts';
import type { LiveSegment } from '../segments/segment.ts';
import {
  dayConditions,
  fromDays,
  tenantConditions,
  unnestWindows,
  where,
} from '../slice/queries.ts';
import { type DayWindow, type Slice, taggedWindows } from '../slice/slice.ts';
import { mergeSpans } from '../tags/windows.ts';

/** A segment in the catalogue, with all that is needed to open it. */
export type Segment = Omit<LiveSegment, 'id'> & { tenant: string; segment_id: string };

/** A segment, with the number and the bytes of all its records. */
export type WholeSegment = Segment & { count: number; bytes: number };

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
  const source = isTagged ? taggedDays(slice, options, days) : sql`(${days})`;
  const scanOrder = isTagged ? ['place', 'day'] : dayKey;
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
    from ${givenRows('asked', segments, { tenant: 'text', segment_id: 'text' })}
    join segments segment on segment.tenant = asked.tenant and segment.id = asked.segment_id
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
    select tenant, store, day, count from ${taggedDays(slice, { ...options, to: null }, days)} found
    where (select first_day from hot) is not null
    order by ${dayOrder('found', ['place', 'day'], descending)} limit ${raw(String(limit))}`);
}

/**
 * Selects the tagged days of a slice, to be read by their `place` and then by day. They may be few among many, so this
 * looks only at the days in each window instead of at all days of the tenant: store by store, or, where all windows are
 * of stores, window by window.
 */
function taggedDays(slice: Slice, scan: Omit<DayScan, 'limit'>, days: Sql): Sql {
  const windows = taggedWindows(slice);
  const conditions = [
    sql`day.day >= tagged.first_day and day.day < tagged.until`,
    ...boundsOf(scan).map(
      // A comparison of rows instead would make PostgreSQL choose a worse index scan for the other stores.
      ({ store, day, bound }) => sql`(day.store <> ${store} or day.day ${bound} ${day}::date)`,
    ),
  ];
  const areOfStores = windows.every(({ store }) => store !== null);
  // `offset 0` keeps the selects apart: if PostgreSQL joined them freely, it would read all days.
  if (areOfStores) {
    return sql`(
      select tagged.place, day.* from (
        select * from ${unnestWindows(inReach(windows, scan))} with ordinality
          as given(store, first_day, until, place)
        order by place ${raw(scan.descending ? 'desc' : 'asc')}
      ) tagged cross join lateral (
        select * from (${days}) day ${where([sql`day.store = tagged.store`, ...conditions])} offset 0
      ) day
    )`;
  }
  const storeConditions = [
    ...tenantConditions(slice),
    ...boundsOf(scan).map(({ store, bound }) => sql`store ${bound} ${store}`),
  ];
  return sql`(
    select own.place, day.* from (
      select store as place from leaf_stores ${where(storeConditions)}
      order by store ${raw(scan.descending ? 'desc' : 'asc')} offset 0
    ) own cross join lateral (
      select day.* from ${unnestWindows(windows)} as tagged(store, first_day, until)
      cross join lateral (
        select * from (${days}) day ${where([sql`day.store = own.place`, ...conditions])} offset 0
      ) day
      where coalesce(tagged.store, own.place) = own.place offset 0
    ) day
  )`;
}

/** The ends of a scan that are set, as comparisons of stores and of days. */
function boundsOf({ from, to, descending }: Omit<DayScan, 'limit'>) {
  const [onward, back] = descending ? ['<=', '>='] : ['>=', '<='];
  return [
    ...(from === null ? [] : [{ store: from[1], day: from[2], bound: raw(onward) }]),
    ...(to === null ? [] : [{ store: to[1], day: to[2], bound: raw(back) }]),
  ];
}

/** Returns the windows of stores that a scan still meets, in the order of their stores. */
function inReach(
  windows: readonly DayWindow[],
  { from, to, descending }: Omit<DayScan, 'limit'>,
): DayWindow[] {
  const [least, most] = descending ? [to, from] : [from, to];
  return windows.filter(({ store, ...days }) => {
    const beforeLeast = least === null ? 1 : compareText(store ?? '', least[1]);
    const beforeMost = most === null ? -1 : compareText(store ?? '', most[1]);
    return (
      (beforeLeast > 0 || (beforeLeast === 0 && days.until > (least?.[2] ?? ''))) &&
      (beforeMost < 0 || (beforeMost === 0 && days.from <= (most?.[2] ?? '')))
    );
  });
}

function dayOrder(table: string, columns: readonly string[], descending: boolean): Sql {
  return raw(columns.map((column) => `${table}.${column}${descending ? ' desc' : ''}`).join(', '));
}

/** What one of the tiers has of a slice on a day, and the times between which all of both tiers lie. */
export type TimeDay = {
  day: string;
  count: number;
  bytes: number;
  first_at: string;
  last_at: string;
};

type Tier = 'hot' | 'cold';

/** Returns the next days on which the tenant of a slice has records in a tier, in the order of time or in reverse. */
export async function listTimeDays(
  db: Queryable,
  slice: Slice,
  options: { tier: Tier; from: string | null; descending: boolean; limit: number },
): Promise<TimeDay[]> {
  const { tier, from, descending, limit } = options;
  const conditions = dayConditions({ ...slice, dataset: undefined });
  if (from !== null) {
    conditions.push(sql`day ${raw(descending ? '<=' : '>=')} ${from}::date`);
  }
  if (slice.dataset !== undefined) {
    const spans = mergeSpans(taggedWindows(slice)).map(
      (span) => sql`day >= ${span.from}::date and day < ${span.until}::date`,
    );
    conditions.push(spans.length === 0 ? raw('false') : sql`(${join(spans, ' or ')})`);
  }
  return db.query<TimeDay>(sql`
    select day::text as day, ${tierSums[tier]}
    from tenant_days ${where([...conditions, tierDays[tier]])}
    group by day order by day ${raw(descending ? 'desc' : 'asc')} limit ${raw(String(limit))}`);
}

/** Returns the same of the tagged stores alone, for days from one to another, both included. */
export async function listTaggedDays(
  db: Queryable,
  slice: Slice,
  options: { tier: Tier; first: string; last: string; descending: boolean },
): Promise<TimeDay[]> {
  const { tier, first, last, descending } = options;
  const between = [sql`day between ${first}::date and ${last}::date`, tierDays[tier]];
  return db.query<TimeDay>(sql`
    select day::text as day, ${tierSums[tier]} ${fromDays('leaf_days', slice, between)}
    group by day order by day ${raw(descending ? 'desc' : 'asc')}`);
}

const tierDays: Record<Tier, Sql> = { hot: sql`has_hot`, cold: sql`cold_count > 0` };

const dayTimes = sql`${instantText('min(first_at)')} as first_at, ${instantText('max(last_at)')} as last_at`;
const tierSums: Record<Tier, Sql> = {
  hot: sql`sum(count - cold_count)::bigint as count, sum(bytes - cold_bytes)::bigint as bytes, ${dayTimes}`,
  cold: sql`sum(cold_count)::bigint as count, sum(cold_bytes)::bigint as bytes, ${dayTimes}`,
};

/**
 * Returns the segments that may hold an event of a slice in the order of their tenants, one more than `limit` at most:
 * those of at least as many segments as `filters` says, tenant by tenant, of all or of those beyond one. `last` is the
 * last tenant whose were looked at, or null if no more follow.
 */
export async function listHolders(
  db: Queryable,
  slice: Slice & { readonly eventId: string },
  options: {
    beyond: readonly ['>=' | '<=' | '<', tenant: string] | null;
    descending: boolean;
    limit: number;
    filters: number;
  },
): Promise<{ holders: WholeSegment[]; last: string | null }> {
  const { beyond, descending, limit, filters } = options;
  const direction = raw(descending ? 'desc' : 'asc');
  const conditions = segmentConditions(slice);
  if (beyond !== null) conditions.push(sql`tenant ${raw(beyond[0])} ${beyond[1]}`);
  const [found] = await db.query<{ holders: string[][] | null; last: string | null }>(sql`
    with looked as materialized (
      select tenant, id, ${mayHold(slice.eventId)} as may_hold from segments ${where(conditions)}
      order by tenant ${direction} fetch first ${raw(String(filters))} rows with ties
    )
    select case when count(*) >= ${filters} then ${raw(descending ? 'min' : 'max')}(tenant) end as last,
      (select json_agg(holder) from (
        select json_build_array(tenant, id) as holder from looked where may_hold
        order by tenant ${direction} limit ${limit + 1}
      ) picked) as holders
    from looked`);
  const keys = found?.holders ?? [];
  const last = slice.tenant === undefined ? (found?.last ?? null) : null;
  if (keys.length === 0) return { holders: [], last };
  const holders = await db.query<WholeSegment>(sql`
    select segment.tenant, segment.id as segment_id, segment.count, segment.bytes, ${segmentColumns}
    from unnest(${keys.map(([tenant]) => tenant)}::text[], ${keys.map(([, id]) => id)}::text[]) as asked(tenant, id)
    join segments segment on segment.tenant = asked.tenant and segment.id = asked.id
    order by segment.tenant ${direction}`);
  return { holders, last };
}

/** Returns the segments that may hold records of a slice, beginning after one of them (tenant and id). */
export async function listSegmentsOf(
  db: Queryable,
  slice: Slice,
  page: { after: readonly [string, string] | null; limit: number },
): Promise<WholeSegment[]> {
  const conditions = segmentConditions(slice);
  if (page.after !== null) conditions.push(sql`(tenant, id) > (${join([...page.after])})`);
  return db.query<WholeSegment>(sql`
    select segment.tenant, segment.id as segment_id, segment.count, segment.bytes, ${segmentColumns}
    from segments segment ${where(conditions)} order by segment.tenant, segment.id
    limit ${page.limit}`);
}

function beside([tenant, store, day]: DayKey, comparison: string): Sql {
  return sql`(tenant, store, day) ${raw(comparison)} (${tenant}, ${store}, ${day}::date)`;
}

/** The conditions for segments that may hold records of a slice: by days, and where it is of stores by these. */
function segmentConditions(slice: Slice): Sql[] {
  const { tenant, store, from, until, range, dataset } = slice;
  const conditions = tenantConditions({ ...slice, store: undefined });
  if (from !== undefined) conditions.push(sql`last_day >= ${from}::date`);
  if (until !== undefined) conditions.push(sql`first_day < ${until}::date`);
  if (range !== undefined) {
    conditions.push(sql`last_day >= ${range.minDay}::date and first_day <= ${range.maxDay}::date`);
  }
  const windows = dataset === undefined ? undefined : taggedWindows(slice, range);
  if (windows !== undefined) {
    const each = mergeSpans(windows).map(
      (span) => sql`last_day >= ${span.from}::date and first_day < ${span.until}::date`,
    );
    conditions.push(each.length === 0 ? raw('false') : sql`(${join(each, ' or ')})`);
  }
  const isOfStores =
    store !== undefined ||
    range !== undefined ||
    windows?.every((window) => window.store !== null) === true;
  if (tenant !== undefined && isOfStores) {
    conditions.push(sql`id in (select segment_id ${fromDays('segment_days', slice)})`);
  }
  return conditions;
}

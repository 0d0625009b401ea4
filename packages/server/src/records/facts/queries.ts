import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { DayInSegment } from '../read/queries.ts';
import { dayConditions, fromDays, where } from '../slice/queries.ts';
import type { Slice } from '../slice/slice.ts';
import {
  type CountedDay,
  goldenRatio,
  type HotStretch,
  type PickedStore,
  type SampledStretch,
  type SampleSize,
  type Take,
} from './pick-days.ts';

/** How many records have these three labels. */
export type LabelTally = {
  kind: string | null;
  source: string | null;
  model: string | null;
  count: number;
};

/**
 * Returns the stores of a slice in which some place of a sample lies; see `pickDays`. `phase` is the share of the
 * distance between two places that the first one is moved by. The result is empty when the slice has no records. Without
 * `offset 0` PostgreSQL would compute each step anew wherever its name stands.
 */
export async function pickStores(
  db: Queryable,
  slice: Slice,
  { size, phase }: { size: SampleSize; phase: number },
): Promise<PickedStore[]> {
  const { records, places, mostPlaces } = size;
  const placed = (at: Sql) =>
    sql`(floor((${at}) / step) * each + least(each, (${at}) - floor((${at}) / step) * step))`;
  const first = sql`upto - count - ${phase}::float8 * step`;
  const last = sql`upto - ${phase}::float8 * step`;
  return db.query<PickedStore>(sql`
    with own as (${storeCounts(slice)}), summed as (
      select store, count, sum(count) over (order by store) as upto,
        sum(count) over () as total, count(*) over () as stores
      from own
    ), measured as (
      select *, least(${mostPlaces}::float8, greatest(${places}::float8,
        ceil(${records}::float8 * stores / total))) as places
      from summed offset 0
    ), placed as (
      select *, total / places as step, ${records}::float8 / places as each from measured offset 0
    )
    select store, (upto - count)::bigint as before, total::bigint as total, places::int as places
    from placed where ${placed(last)} > ${placed(first)} order by store`);
}

/** Counts as float8: sums of numeric took twice as long over 20,000 stores, and up to 2^53 these are as exact. */
function storeCounts(slice: Slice): Sql {
  const { from, until, dataset, range } = slice;
  if (from ?? until ?? dataset ?? range) {
    return sql`select store, sum(count)::float8 as count ${fromDays('leaf_days', slice)} group by store`;
  }
  return sql`select store, count::float8 from leaf_stores ${where(dayConditions(slice))}`;
}

/**
 * Returns the days of a slice with their counts, in the order of reading: of some of its stores, or of all of them when
 * `stores` is null.
 */
export async function listStoreDays(
  db: Queryable,
  slice: Slice,
  stores: readonly string[] | null,
): Promise<CountedDay[]> {
  const own = stores === null ? [] : [sql`store = any(${stores})`];
  return db.query<CountedDay>(sql`
    select store, day::text as day, count, cold_count ${fromDays('leaf_days', slice, own)}
    order by store, leaf_days.day`);
}

/**
 * Returns the kinds, sources and models of the hot records of some stretches, with their counts. `offset 0` makes it
 * look up stretch by stretch.
 */
export async function tallyHotRecords(
  db: Queryable,
  { tenant }: { tenant: string },
  stretches: readonly HotStretch[],
): Promise<LabelTally[]> {
  return db.query<LabelTally>(sql`
    select record.kind, record.source, record.model, count(*) as count
    from unnest(${stretches.map(({ store }) => store)}::text[],
      ${stretches.map(({ first_at }) => first_at)}::timestamptz[],
      ${stretches.map(({ until_at }) => until_at)}::timestamptz[]) as stretch(store, first_at, until_at)
    cross join lateral (
      select kind, source, model from enrichment_records
      where tenant = ${tenant} and store = stretch.store
        and occurred_at >= stretch.first_at and occurred_at < stretch.until_at
      offset 0
    ) record
    group by record.kind, record.source, record.model`);
}

/** As many keys are read of one stretch, and no more. Only of far more records at one moment are the last ones left out. */
const mostKeys = 200_000;

/**
 * Does the same for a share of the records of each stretch, spread evenly over them. These are found in the index of
 * keys alone, without sorting or counting them, which took three times as long; then they are looked up one by one.
 */
export async function tallyHotSample(
  db: Queryable,
  { tenant }: { tenant: string },
  stretches: readonly SampledStretch[],
): Promise<LabelTally[]> {
  return db.query<LabelTally>(sql`
    with found as (
      select stretch.store, stretch.share, key.occurred_at, key.event_id,
        row_number() over () * ${goldenRatio}::float8 as turns
      from unnest(${stretches.map(({ store }) => store)}::text[],
        ${stretches.map(({ first_at }) => first_at)}::timestamptz[],
        ${stretches.map(({ until_at }) => until_at)}::timestamptz[],
        ${stretches.map(({ share }) => share)}::float8[]) as stretch(store, first_at, until_at, share)
      cross join lateral (
        select occurred_at, event_id from enrichment_records
        where tenant = ${tenant} and store = stretch.store
          and occurred_at >= stretch.first_at and occurred_at < stretch.until_at
        order by tenant, store, occurred_at, event_id limit ${mostKeys}
      ) key
    )
    select record.kind, record.source, record.model, count(*) as count
    from found
    cross join lateral (
      select kind, source, model from enrichment_records
      where tenant = ${tenant} and store = found.store
        and occurred_at = found.occurred_at and event_id = found.event_id
      limit 1
    ) record
    where turns - floor(turns) < share
    group by record.kind, record.source, record.model`);
}

/** Returns where in segments the cold records of some days stand. */
export async function listPlaces(
  db: Queryable,
  tenant: string,
  takes: readonly Take[],
): Promise<DayInSegment[]> {
  return db.query<DayInSegment>(sql`
    select part.tenant, part.store, part.day, part.segment_id, part.first_row, part.count, part.bytes,
      segment.object_key, segment.size_bytes, segment.sha256, segment.first_day, segment.last_day
    from unnest(${takes.map(({ store }) => store)}::text[], ${takes.map(({ day }) => day)}::date[])
      as take(store, day)
    join segment_days part on part.tenant = ${tenant} and part.store = take.store and part.day = take.day
    join segments segment on segment.tenant = part.tenant and segment.id = part.segment_id
    order by part.store, part.day, part.segment_id`);
}

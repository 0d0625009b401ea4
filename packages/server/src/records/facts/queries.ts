import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import type { DayInSegment } from '../read/queries.ts';
import { dayConditions, fromDays, where } from '../slice/queries.ts';
import type { Slice } from '../slice/slice.ts';
import { parseWhere } from '../where/parse.ts';
import { whereSql } from '../where/queries.ts';
import {
  type CountedDay,
  goldenRatio,
  type HotStretch,
  type PickedStore,
  type SampledStretch,
  type SampleSize,
  type Take,
} from './pick-days.ts';

/** A record of a sample: where it stands, its labels, and its enrichment as it was sent. */
export type SampledRecord = {
  store: string;
  day: string;
  kind: string | null;
  source: string | null;
  model: string | null;
  /** As it was sent: PostgreSQL refuses to round `1e-400` to a double. */
  confidence: string | null;
  /** Whether it is one of the records that the slice means by its `where`. */
  fits: boolean;
  /** Null where nobody asked for it, where it does not fit, or where there was no room for it. */
  enrichment: string | null;
};

/**
 * Returns the stores in which a place of a sample lies (see `pickDays`), or none. Without `offset 0` each step would be
 * computed anew wherever its name stands.
 */
export async function pickStores(
  db: Queryable,
  slice: Slice,
  { size, phase }: { size: SampleSize; phase: number },
): Promise<PickedStore[]> {
  const { records, places, mostPlaces } = size;
  const placed = (at: Sql) => {
    const place = sql`floor((${at}) / step)`;
    const turns = sql`(${place} * ${goldenRatio}::float8 + ${phase}::float8)`;
    const start = sql`${place} * step + (${turns} - floor(${turns})) * (step - each)`;
    return sql`(${place} * each + least(each, greatest(0, (${at}) - (${start}))))`;
  };
  return db.query<PickedStore>(sql`
    with own as (${storeCounts(slice)}), summed as (
      select store, count, sum(count) over (order by store) as upto,
        sum(count) over () as total, count(*) over () as stores
      from own
    ), measured as (
      select *, least(${Math.min(mostPlaces, records)}::float8, greatest(${places}::float8, stores)) as places
      from summed offset 0
    ), placed as (
      select *, total / places as step, ${records}::float8 / places as each from measured offset 0
    )
    select store, (upto - count)::bigint as before, total::bigint as total, places::int as places
    from placed where ${placed(sql`upto`)} > ${placed(sql`upto - count`)} order by store`);
}

/** Counts as float8: sums of numeric took twice as long over 20,000 stores, and up to 2^53 these are as exact. */
function storeCounts(slice: Slice): Sql {
  const { from, until, dataset, range } = slice;
  if (from ?? until ?? dataset ?? range) {
    return sql`select store, sum(count)::float8 as count ${fromDays('leaf_days', slice)} group by store`;
  }
  return sql`select store, count::float8 from leaf_stores ${where(dayConditions(slice))}`;
}

/** Returns the days of a slice with their counts, in the order of reading; of these stores, or of all (null). */
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

const found = (own: string | undefined) =>
  sql`store, to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD') as day, kind, source, model,
  confidence, bytes, enrichment,
  ${own === undefined ? raw('true') : whereSql(parseWhere(own))} as fits`;

/** How records of a sample are read: of which tenant, how much text in all, and what makes them fit. */
export type ReadOptions = {
  readonly tenant: string;
  readonly textBytes: number;
  readonly where: string | undefined;
};

function plannedFor({ where: own }: ReadOptions) {
  return { isPlannedAnew: own !== undefined };
}

/** The columns of `SampledRecord`. Enrichments are read as long as they fit into `textBytes`; 0 reads none. */
const shown = (textBytes: number) =>
  sql`record.store, record.day, record.kind, record.source, record.model, record.confidence, record.fits,
    ${textBytes === 0 ? raw('null') : sql`case when record.fits and sum(case when record.fits then record.bytes else 0 end) over (rows unbounded preceding) <= ${textBytes} then record.enrichment::text end`} as enrichment`;

const stretchTypes = { store: 'text', first_at: 'timestamptz', until_at: 'timestamptz' };

/** Returns the hot records of some stretches. `offset 0` makes it look up stretch by stretch. */
export async function listHotRecords(
  db: Queryable,
  options: ReadOptions,
  stretches: readonly HotStretch[],
): Promise<SampledRecord[]> {
  const { tenant, textBytes, where: own } = options;
  return db.query<SampledRecord>(
    sql`
    select ${shown(textBytes)}
    from ${givenRows('stretch', stretches, stretchTypes)}
    cross join lateral (
      select ${found(own)} from enrichment_records
      where tenant = ${tenant} and store = stretch.store
        and occurred_at >= stretch.first_at and occurred_at < stretch.until_at
      offset 0
    ) record`,
    plannedFor(options),
  );
}

/** As many keys are read of one stretch, and no more. Only of far more records at one moment are the last ones left out. */
const mostKeys = 200_000;

/**
 * Does the same for a share of the records of each stretch, spread evenly over them. These are found in the index of
 * keys alone, without sorting or counting them, which took three times as long; then they are looked up one by one.
 */
export async function listHotSample(
  db: Queryable,
  options: ReadOptions,
  stretches: readonly SampledStretch[],
): Promise<SampledRecord[]> {
  const { tenant, textBytes, where: own } = options;
  return db.query<SampledRecord>(
    sql`
    with found as (
      select stretch.store, stretch.share, key.occurred_at, key.event_id,
        row_number() over () * ${goldenRatio}::float8 as turns
      from ${givenRows('stretch', stretches, { ...stretchTypes, share: 'float8' })}
      cross join lateral (
        select occurred_at, event_id from enrichment_records
        where tenant = ${tenant} and store = stretch.store
          and occurred_at >= stretch.first_at and occurred_at < stretch.until_at
        order by tenant, store, occurred_at, event_id limit ${mostKeys}
      ) key
    )
    select ${shown(textBytes)}
    from found
    cross join lateral (
      select ${found(own)} from enrichment_records
      where tenant = ${tenant} and store = found.store
        and occurred_at = found.occurred_at and event_id = found.event_id
      limit 1
    ) record
    where turns - floor(turns) < share`,
    plannedFor(options),
  );
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
    from ${givenRows('take', takes, { store: 'text', day: 'date' })}
    join segment_days part on part.tenant = ${tenant} and part.store = take.store and part.day = take.day
    join segments segment on segment.tenant = part.tenant and segment.id = part.segment_id
    order by part.store, part.day, part.segment_id`);
}

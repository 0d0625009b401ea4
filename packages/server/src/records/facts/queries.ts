import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { DayInSegment } from '../read/queries.ts';
import { dayConditions, labelConditions, where } from '../slice/queries.ts';
import type { Slice } from '../slice/slice.ts';
import type { CountedDay, HotStretch, PickedStore, Take } from './pick-days.ts';
import type { LabelTally } from './tally.ts';

/**
 * Picks stores of a slice evenly by their number of records: `hits` says how many of the places fall into a store.
 * There are more places when the stores are so small that `recordsEach` records cannot be looked at in each. The result
 * is empty when the slice has no records.
 */
export async function pickStores(
  db: Queryable,
  slice: Slice,
  sample: { places: number; maxPlaces: number; records: number; recordsEach: number },
): Promise<PickedStore[]> {
  const { places, maxPlaces, records, recordsEach } = sample;
  return db.query<PickedStore>(sql`
    with own as (${storeCounts(slice)}), placed as (
      select store, count, sum(count) over (order by store) as upto, sum(count) over () as total,
        count(*) over () as stores
      from own
    ), measured as (
      select *, least(${maxPlaces}::int, greatest(${places}::int,
        ceil(${records}::int / least(${recordsEach}::int, total / stores)))) as places
      from placed
    ), hit as (
      select store, places, total, floor(upto * places / total + 0.5)
        - floor((upto - count) * places / total + 0.5) as hits
      from measured
    )
    select store, hits::int as hits, places::int as places, total::bigint as total from hit where hits > 0 order by store`);
}

function storeCounts(slice: Slice): Sql {
  const { from, until, dataset, range } = slice;
  if (from ?? until ?? dataset ?? range) {
    return sql`select store, sum(count) as count from leaf_days ${where(dayConditions(slice))}
      group by store`;
  }
  return sql`select store, count::numeric from leaf_stores ${where(dayConditions(slice))}`;
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
  const conditions = dayConditions(slice);
  if (stores !== null) conditions.push(sql`store = any(${stores})`);
  return db.query<CountedDay>(sql`
    select store, day::text as day, count, cold_count from leaf_days ${where(conditions)}
    order by store, leaf_days.day`);
}

/** Returns the kinds, sources and models of the first hot records of some stretches, with their counts. */
export async function tallyHotRecords(
  db: Queryable,
  slice: Slice,
  stretches: readonly HotStretch[],
): Promise<LabelTally[]> {
  const conditions = [
    sql`tenant = ${slice.tenant} and store = stretch.store`,
    sql`occurred_at >= stretch.first_at and occurred_at <= stretch.last_at`,
    ...labelConditions(slice),
  ];
  const of = (name: keyof HotStretch) => stretches.map((stretch) => stretch[name]);
  return db.query<LabelTally>(sql`
    select record.kind, record.source, record.model, count(*) as count
    from unnest(${of('store')}::text[], ${of('first_at')}::timestamptz[],
      ${of('last_at')}::timestamptz[], ${of('most')}::int[]) as stretch(store, first_at, last_at, most)
    cross join lateral (
      select kind, source, model from enrichment_records ${where(conditions)}
      order by tenant, store, occurred_at, event_id limit stretch.most
    ) record
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

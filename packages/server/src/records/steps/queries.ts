import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { StoreDay } from '../segments/segment.ts';
import { fromDays, rangeOfDays } from '../slice/queries.ts';
import type { KeyRange, Slice } from '../slice/slice.ts';

/**
 * Neighbouring store-days that lie in the same way: either all hot, or with their rows one after another in the same
 * segment. A store-day that has hot and cold rows, or rows in several segments, is an island for each of its segments.
 */
export type Island = {
  tier: 'hot' | 'cold' | 'both';
  range: KeyRange;
  days: number;
  /** The number of records in both tiers. */
  count: number;
  /** Where its cold rows are; null when the island is hot. */
  segment_id: string | null;
  first_row: number | null;
  row_count: number;
  /** The bytes of its cold rows as NDJSON. */
  bytes: number;
};

/** Returns the islands of the next `limit` store-days of the slice, in the order of the keys. */
export async function listIslands(
  db: Queryable,
  slice: Slice,
  page: { after: StoreDay | null; limit: number },
): Promise<Island[]> {
  const { after, limit } = page;
  const beyond =
    after === null
      ? []
      : [sql`(tenant, store, day) > (${slice.tenant}, ${after.store}, ${after.day}::date)`];
  return db.query<Island>(sql`
    with own as (
      select tenant, store, day, count, cold_count ${fromDays('leaf_days', slice, beyond)}
      order by tenant, store, day limit ${raw(String(limit))}
    ), placed as (
      select own.store, own.day, own.count, s.segment_id, s.first_row, s.count as row_count, s.bytes,
        case when s.segment_id is null then 'hot'
          when own.cold_count = own.count
            and (lag(own.store) over near, lag(own.day) over near) is distinct from (own.store, own.day)
            and (lead(own.store) over near, lead(own.day) over near) is distinct from (own.store, own.day)
          then 'cold' else 'both' end as tier,
        lag(s.segment_id) over near as segment_before,
        lag(s.first_row + s.count) over near as row_before
      from own left join segment_days s
        on s.tenant = own.tenant and s.store = own.store and s.day = own.day
      window near as (order by own.store, own.day, s.segment_id)
    ), compared as (
      select *, coalesce(lag(tier) over near = tier and (tier = 'hot'
          or tier = 'cold' and segment_before = segment_id and row_before = first_row), false) as goes_on
      from placed window near as (order by store, day, segment_id)
    ), numbered as (
      select *, count(*) filter (where not goes_on) over (order by store, day, segment_id) as island
      from compared
    )
    select min(tier) as tier, ${rangeOfDays} as range, count(*) as days, sum(count)::bigint as count,
      min(segment_id) as segment_id, min(first_row) as first_row,
      coalesce(sum(row_count), 0)::bigint as row_count, coalesce(sum(bytes), 0)::bigint as bytes
    from numbered group by island order by island`);
}

import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { givenRows } from '../../platform/postgres/sql-text.ts';
import { mayHoldEach } from '../segments/event-filter.ts';
import type { ColdDay } from './queries.ts';

/** Where in a segment of the catalogue the cold records of a day stand. */
export type ColdPlace = ColdDay & {
  segment_id: string;
  object_key: string;
  size_bytes: number;
  sha256: Buffer;
  first_row: number;
  count: number;
};

/** Reads counters and catalogue in one statement, so that both show the same moment. */
export async function listColdPlaces(
  db: Queryable,
  days: readonly ColdDay[],
): Promise<ColdPlace[]> {
  return db.query(sql`
    select kept.tenant, kept.store, kept.day::text as day, kept.cold_count,
      kept.cold_digest::text as cold_digest, place.segment_id, segment.object_key, segment.size_bytes,
      segment.sha256, place.first_row, place.count
    from ${givenRows('touched', days, { tenant: 'text', store: 'text', day: 'date' })}
    join leaf_days kept
      on kept.tenant = touched.tenant and kept.store = touched.store and kept.day = touched.day
    join segment_days place
      on place.tenant = kept.tenant and place.store = kept.store and place.day = kept.day
    join segments segment on segment.tenant = place.tenant and segment.id = place.segment_id
    order by place.tenant, place.segment_id, place.first_row`);
}

/** Returns the places of those pairs of a segment, or one that is gone, and an event that it may hold. */
export async function listMayHold(
  db: Queryable,
  pairs: readonly { tenant: string; segmentId: string; eventId: string }[],
): Promise<Set<number>> {
  const { asked, mayHold } = mayHoldEach(pairs);
  const rows = await db.query<{ place: number }>(sql`
    select (asked.number - 1)::integer as place
    from ${asked} left join segments segment on segment.tenant = asked.tenant and segment.id = asked.id
    where segment.id is null or ${mayHold}`);
  return new Set(rows.map(({ place }) => place));
}

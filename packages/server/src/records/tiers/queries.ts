import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { tenantConditions, where } from '../queries.ts';
import type { Slice } from '../slice.ts';

/** A live segment, as opening it needs it. Days are `YYYY-MM-DD`. */
export type Segment = {
  tenant: string;
  segment_id: string;
  object_key: string;
  size_bytes: number;
  sha256: Buffer;
  first_day: string;
  last_day: string;
};

/** Where in a segment the records of a store's day stand. */
export type SegmentDay = Segment & {
  store: string;
  day: string;
  first_row: number;
  count: number;
  bytes: number;
};

/** A store's day, as a place in the order of reading. */
export type StoreDay = readonly [tenant: string, store: string, day: string];

const segmentColumns = sql`segment.object_key, segment.size_bytes, segment.sha256,
  segment.first_day, segment.last_day`;

/**
 * The days of a slice that have cold records, in the order of reading, from one day to another, both
 * with. At most `limit`, and all of the last day.
 */
export async function listSegmentDays(
  db: Queryable,
  slice: Slice,
  options: { from: StoreDay | null; to: StoreDay | null; descending: boolean; limit: number },
): Promise<SegmentDay[]> {
  const { from, to, descending, limit } = options;
  const conditions = [...tenantConditions(slice), ...dayConditions(slice)];
  if (from !== null) conditions.push(beside(from, descending ? '<=' : '>='));
  if (to !== null) conditions.push(beside(to, descending ? '>=' : '<='));
  const order = (table: string) =>
    raw(
      ['tenant', 'store', 'day']
        .map((column) => `${table}.${column}${descending ? ' desc' : ''}`)
        .join(', '),
    );
  return db.query<SegmentDay>(sql`
    select part.tenant, part.store, part.day, part.segment_id, part.first_row, part.count, part.bytes,
      ${segmentColumns}
    from (
      select tenant, store, day, segment_id, first_row, count, bytes from segment_days
      ${where(conditions)}
      order by ${order('segment_days')} fetch first ${raw(String(limit))} rows with ties
    ) part
    join segments segment on segment.tenant = part.tenant and segment.id = part.segment_id
    order by ${order('part')}`);
}

/** The segments that may hold records of a slice, after one of them (tenant and id). */
export async function listSegmentsOf(
  db: Queryable,
  slice: Slice,
  page: { after: readonly [string, string] | null; limit: number },
): Promise<Segment[]> {
  // Which stores a segment holds tell its rows.
  const conditions = tenantConditions({ ...slice, store: undefined });
  if (slice.from !== undefined) conditions.push(sql`last_day >= ${slice.from}::date`);
  if (slice.until !== undefined) conditions.push(sql`first_day < ${slice.until}::date`);
  if (page.after !== null) conditions.push(sql`(tenant, id) > (${join([...page.after])})`);
  return db.query<Segment>(sql`
    select segment.tenant, segment.id as segment_id, ${segmentColumns}
    from segments segment ${where(conditions)} order by segment.tenant, segment.id
    limit ${page.limit}`);
}

function dayConditions(slice: Slice): Sql[] {
  const conditions: Sql[] = [];
  if (slice.from !== undefined) conditions.push(sql`day >= ${slice.from}::date`);
  if (slice.until !== undefined) conditions.push(sql`day < ${slice.until}::date`);
  return conditions;
}

function beside([tenant, store, day]: StoreDay, comparison: string): Sql {
  return sql`(tenant, store, day) ${raw(comparison)} (${tenant}, ${store}, ${day}::date)`;
}

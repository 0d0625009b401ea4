import sql, { raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import type { DayTriple } from './segment.ts';

/** Days from the first to the last, both inclusive. */
export type DayRange = { tenant: string; firstDay: string; lastDay: string };

/** What a snapshot finds hot on these days, by the counters; in key order. */
export async function listHotDays(db: Queryable, range: DayRange): Promise<DayTriple[]> {
  return db.query<DayTriple>(sql`
    select store, day::text as day, count - cold_count as count, bytes - cold_bytes as bytes,
      mod(digest - cold_digest + 18446744073709551616, 18446744073709551616) as digest
    from leaf_days
    where tenant = ${range.tenant} and day between ${range.firstDay}::date and ${range.lastDay}::date
      and count > cold_count
    order by store, day`);
}

/** A store's hot records of whole days in key order, for COPY; times in microseconds since 1970. */
export function selectHotRows(range: DayRange & { store: string }): Sql {
  return sql`
    select store, (extract(epoch from occurred_at) * 1000000)::bigint as occurred_us,
      ${oneLine('event_id')}, (extract(epoch from recorded_at) * 1000000)::bigint as recorded_us,
      ${oneLine('kind')}, ${oneLine('source')}, ${oneLine('model')}, confidence, bytes, enrichment
    from enrichment_records record
    where tenant = ${range.tenant} and store = ${range.store}
      and occurred_at >= ${`${range.firstDay}T00:00:00Z`}::timestamptz
      and occurred_at < ${`${range.lastDay}T00:00:00Z`}::timestamptz + interval '1 day'
    order by record.occurred_at, record.event_id`;
}

/**
 * Text without line breaks: U+0001 stands for one with the letter behind it, and for itself with e. The
 * other columns never have any; enrichment is compact JSON. `column` is code, not input.
 */
function oneLine(column: string): Sql {
  const has = (code: number) => `strpos(${column}, chr(${code})) > 0`;
  return raw(`case when ${has(10)} or ${has(13)} or ${has(1)} then
    replace(replace(replace(${column}, chr(1), chr(1) || 'e'), chr(10), chr(1) || 'n'), chr(13), chr(1) || 'r')
    else ${column} end as ${column}`);
}

/** For transactions that move much: a statement may take ten minutes. Reads along the key. */
export async function allowLongStatements(connection: Connection): Promise<void> {
  await connection.client.query(
    `set local statement_timeout = '10min'; set local enable_sort = off`,
  );
}

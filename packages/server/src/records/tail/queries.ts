import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { type RecordRow, recordColumns } from '../queries.ts';
import { where } from '../slice/queries.ts';
import type { TenantSlice } from '../slice/slice.ts';
import { tailHours } from '../stored/queries.ts';
import { parseWhere } from '../where/parse.ts';
import { whereSql } from '../where/queries.ts';

/** How far a tail has told: up to a time, a day of a store in its part, or a record. Times have six digits. */
export type Place =
  | readonly [storedAt: string]
  | readonly [storedAt: string, store: string, day: string]
  | readonly [storedAt: string, store: string, occurredAt: string, eventId: string];

/** What a part stored of a day of a store. */
export type StoredDay = {
  readonly stored_at: string;
  readonly store: string;
  readonly day: string;
  readonly recorded_at: string;
  readonly first_at: string;
  readonly last_at: string;
  /** A multirange that holds their times; null for all between `first_at` and `last_at`. */
  readonly spans: string | null;
  readonly count: number;
  /** Whether the day has cold records, which may be some of these. */
  readonly has_cold: boolean;
};

/** Lists the next days that parts have stored of a slice, in the order of their commits. */
export async function listStoredDays(
  db: Queryable,
  slice: TenantSlice,
  { after, limit }: { after: Place; limit: number },
): Promise<StoredDay[]> {
  const { tenant, store, from, until } = slice;
  const conditions = [sql`tenant = ${tenant}`, beyond(after)];
  if (store !== undefined) conditions.push(sql`store = ${store}`);
  if (from !== undefined) conditions.push(sql`day >= ${from}::date`);
  if (until !== undefined) conditions.push(sql`day < ${until}::date`);
  return db.query<StoredDay>(sql`
    select ${instantText('part.stored_at')} as stored_at, part.store, part.day::text as day,
      ${instantText('part.recorded_at')} as recorded_at, ${instantText('part.first_at')} as first_at,
      ${instantText('part.last_at')} as last_at, part.spans::text as spans, part.count, coalesce(own.cold_count, 0) > 0 as has_cold
    from (
      select * from stored_parts ${where(conditions)} order by stored_at, store, day limit ${limit}
    ) part
    left join leaf_days own on own.tenant = ${tenant} and own.store = part.store and own.day = part.day
    order by part.stored_at, part.store, part.day`);
}

function beyond([storedAt, store, at, eventId]: Place): Sql {
  if (store === undefined) return sql`stored_at > ${storedAt}::timestamptz`;
  // A day of which some records have been told is read on.
  const isBeyond = raw(eventId === undefined ? '>' : '>=');
  return sql`(stored_at, store, day) ${isBeyond} (${storedAt}::timestamptz, ${store}, ${at?.slice(0, 10)}::date)`;
}

/** A day of a part from which hot records are read. */
export type DayToRead = StoredDay & {
  /** The record after which reading goes on; null for all. */
  readonly after: readonly [occurredAt: string, eventId: string] | null;
};

/** A page of a tail holds at most this many bytes of records, but at least one record. */
const pageBytes = 256 * 1024;

/** A record of a part: of which day, from 0, and whether the `where` of the slice holds of it. */
type PartRecord = RecordRow & { readonly number: number; readonly fits: boolean };

/** Returns the hot records of these days, whether they fit or not; `isCut`: fewer, by `limit` or `pageBytes`. */
export async function listStoredRecords(
  db: Queryable,
  { tenant, where: own }: TenantSlice,
  { days, limit }: { days: readonly DayToRead[]; limit: number },
): Promise<{ rows: PartRecord[]; isCut: boolean }> {
  const of = (pick: (day: DayToRead) => string) => days.map(pick);
  const first = of((day) => day.after?.[0] ?? day.first_at);
  const last = of(({ last_at }) => last_at);
  const order = raw('record.number, record.occurred_at, record.event_id');
  const fits = own === undefined ? raw('true') : whereSql(parseWhere(own));
  const rows = await db.query<PartRecord & { is_last: boolean }>(
    sql`
    select number, ${recordColumns}, ${fits} as fits, place = count as is_last from (
      select *, sum(bytes) over (order by ${order}) - bytes as bytes_before,
        row_number() over (order by ${order}) as place, count(*) over () as count
      from (
        select part.number - 1 as number, record.*
        from unnest(${of(({ store }) => store)}::text[], ${first}::timestamptz[], ${last}::timestamptz[],
          ${of(({ recorded_at: at }) => at)}::timestamptz[], ${of((day) => day.after?.[1] ?? '')}::text[],
          ${of(({ spans }) => spans ?? '{(,)}')}::tstzmultirange[]
        ) with ordinality as part(store, first_at, last_at, recorded_at, event_id, spans, number)
        cross join unnest(spans) as span
        cross join lateral (
          select * from enrichment_records record
          where tenant = ${tenant} and store = part.store
            and occurred_at between greatest(part.first_at, lower(span)) and least(part.last_at, upper(span))
            and occurred_at between ${first.toSorted()[0]}::timestamptz and ${last.toSorted().at(-1)}::timestamptz
            and recorded_at = part.recorded_at
            and (occurred_at > part.first_at or event_id > part.event_id)
          order by record.occurred_at, record.event_id limit ${raw(String(limit + 1))}
        ) record
      ) record
    ) record where bytes_before < ${pageBytes} and place <= ${limit} order by ${order}`,
    { isPlannedAnew: own !== undefined },
  );
  return { rows, isCut: rows.at(-1)?.is_last === false };
}

/** When a part of the tenant was stored last; undefined if none was, as far as is known. */
export async function findLastStored(db: Queryable, tenant: string): Promise<string | undefined> {
  const [last] = await listLastStored(db, [tenant]);
  return last?.stored_at;
}

/** The same of several tenants. */
export async function listLastStored(
  db: Queryable,
  tenants: readonly string[],
): Promise<{ tenant: string; stored_at: string }[]> {
  return db.query(sql`
    select tenant, ${instantText('stored_at')} as stored_at from leaf_tenants
    where tenant = any(${tenants}::text[]) and stored_at is not null`);
}

/** Whether parts after this time may be forgotten: the oldest that is known is a later one, and old enough. */
export async function isForgotten(
  db: Queryable,
  tenant: string,
  storedAt: string,
): Promise<boolean> {
  const [oldest] = await db.query<{ is_forgotten: boolean }>(sql`
    select stored_at > ${storedAt}::timestamptz and stored_at < now() - interval '${raw(String(tailHours))} hours'
      as is_forgotten
    from stored_parts where tenant = ${tenant} order by stored_at limit 1`);
  return oldest?.is_forgotten ?? false;
}

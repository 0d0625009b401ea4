import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import {
  type DayTriple,
  digestSum,
  fromDays,
  type GoneEffects,
  type LiveSegment,
  mayHold,
  recordConditions,
  type Span,
  whereSql,
} from '../../records/segments.ts';
import type { EraseReceipt } from '../contract.ts';
import type { MoveState } from '../values.ts';
import { type EraseScope, sliceOf, whereOf } from './scope.ts';

/** The days in the scope with hot records, and the triples of all of them, by the counters; event ids do not count. */
export async function listHotDaysOf(db: Queryable, scope: EraseScope): Promise<DayTriple[]> {
  return db.query<DayTriple>(sql`
    select store, day::text as day, count - cold_count as count, bytes - cold_bytes as bytes,
      mod(digest - cold_digest + 18446744073709551616, 18446744073709551616) as digest
    ${fromDays('leaf_days', sliceOf(scope), [sql`has_hot`])} order by store, day`);
}

/** How many days of stores in the scope have records, by the counters. */
export async function countDaysOf(db: Queryable, scope: EraseScope): Promise<number> {
  const rows = await db.query<{ count: number }>(
    sql`select count(*) as count ${fromDays('leaf_days', sliceOf(scope))}`,
  );
  return rows[0]?.count ?? 0;
}

/** The triple of what matches on a day of a store or, with `store` null, one of the event ids that match. */
type HotMatch =
  | (DayTriple & { event_id: null })
  | { store: null; day: null; count: number; bytes: number; digest: string; event_id: string };

/** Finds the matches of one month of hot records. The query goes along the key of the month's partition. */
export async function matchHotMonth(
  db: Queryable,
  scope: EraseScope,
  month: string,
): Promise<HotMatch[]> {
  const start = `${month}-01T00:00:00Z`;
  const isMeant = [
    ...recordConditions(sliceOf(scope)),
    sql`occurred_at >= ${start}::timestamptz`,
    sql`occurred_at < ${start}::timestamptz + interval '1 month'`,
    ...contentConditions(scope),
  ];
  return db.query<HotMatch>(sql`
    select store, day::text as day, event_id, count(*) as count, sum(bytes) as bytes,
      ${digestSum} as digest
    from (
      select store, (occurred_at at time zone 'UTC')::date as day, event_id, bytes, digest
      from enrichment_records where ${join(isMeant, ' and ')}
    ) matched
    group by grouping sets ((store, day), (event_id)) order by store, day`);
}

/** Deletes what matches on days whose counters are locked. Returns the triples of what was deleted, by day. */
export async function deleteHotMatches(
  db: Queryable,
  scope: EraseScope,
  { store, from, until }: Span,
): Promise<DayTriple[]> {
  const isMeant = join([sql`true`, ...contentConditions(scope)], ' and ');
  return db.query<DayTriple>(sql`
    with gone as (
      delete from enrichment_records
      where tenant = ${scope.tenant} and store = ${store}
        and occurred_at >= ${`${from}T00:00:00Z`}::timestamptz
        and occurred_at < ${`${until}T00:00:00Z`}::timestamptz and ${isMeant}
      returning (occurred_at at time zone 'UTC')::date as day, bytes, digest
    )
    select ${store}::text as store, day::text as day, count(*) as count, sum(bytes) as bytes,
      ${digestSum} as digest
    from gone group by day order by day`);
}

/** The filters of segments are asked for so many event ids at most: of a hundred, one in five would be found in any. */
const mostAsked = 32;

/** Lists the segments that may have records of the scope, by the catalogue: its days, and which events it may hold. */
export async function listSegmentsOf(db: Queryable, scope: EraseScope): Promise<LiveSegment[]> {
  const { eventIds } = scope;
  const isAsked = eventIds !== null && eventIds.length > 0 && eventIds.length <= mostAsked;
  const hasSome = isAsked ? sql`(${join(eventIds.map(mayHold), ' or ')})` : sql`true`;
  return db.query<LiveSegment>(sql`
    select id, object_key, size_bytes, sha256, first_day::text as first_day, last_day::text as last_day
    from segments where tenant = ${scope.tenant}
      and id in (select segment_id ${fromDays('segment_days', sliceOf(scope))}) and ${hasSome}
    order by first_day, id`);
}

/** Finds the live segment whose object has this key, among those of these tenants; null means all. */
export async function findSegmentOf(
  db: Queryable,
  objectKey: string,
  tenants: readonly string[] | null,
): Promise<(LiveSegment & { tenant: string }) | undefined> {
  const [row] = await db.query<LiveSegment & { tenant: string }>(sql`
    select tenant, id, object_key, size_bytes, sha256, first_day::text as first_day, last_day::text as last_day
    from segments where object_key = ${objectKey}
      and (${tenants}::text[] is null or tenant = any(${tenants}::text[]))`);
  return row;
}

/** Lists the days in the scope that these segments have, with the triples of all records of these days. */
export async function listSegmentDaysOf(
  db: Queryable,
  scope: EraseScope,
  segmentIds: readonly string[],
): Promise<(DayTriple & { segment_id: string })[]> {
  return db.query(sql`
    select segment_id, store, day::text as day, count, bytes, digest
    ${fromDays('segment_days', sliceOf(scope), [sql`segment_id = any(${segmentIds}::text[])`])}
    order by segment_id, store, day`);
}

/** What holds of the records of a scope beside their stores and days. */
function contentConditions({ eventIds, subject }: EraseScope): Sql[] {
  const conditions: Sql[] = [];
  if (eventIds !== null) conditions.push(sql`event_id = any(${eventIds}::text[])`);
  if (subject !== null) conditions.push(whereSql(whereOf(subject)));
  return conditions;
}

/** How far an erasure in the journal has got. */
export type ErasureState = {
  state: MoveState;
  gone_count: number;
  gone_bytes: number;
  gone_digest: string;
  switched_at: string | null;
  error_code: string | null;
  error: string | null;
  /** When the last of the objects that it replaced is removed; null when none waits for its removal. */
  objects_removed_after: string | null;
  /** What else went or changed; null before the switch. */
  effects: GoneEffects | null;
  /** Tables whose files may still contain deleted rows. */
  scrub_due: string[] | null;
  /** The result of scrubbing them; null before the first try. */
  scrubbed: Scrubbed | null;
};

export async function findErasureState(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
): Promise<ErasureState | undefined> {
  const rows = await db.query<ErasureState>(sql`
    select state, gone_count, gone_bytes, gone_digest, ${instantText('switched_at')} as switched_at,
      error_code, error, (
        select ${instantText('max(remove_after)')} from object_removals removal
        where removal.tenant = moves.tenant and removal.move_id = moves.id
      ) as objects_removed_after, effects, scrub_due, scrubbed
    from moves where tenant = ${tenant} and id = ${id}`);
  return rows[0];
}

/**
 * Stores the receipt without event ids: it must not remember who was erased. One that was stored before its records were
 * found keeps what has gone of incidents since. `begun` is of incidents that are still to go.
 */
export async function saveReceipt(
  db: Queryable,
  receipt: EraseReceipt,
  begun?: GoneIncidents,
): Promise<void> {
  const incidents = begun && { incidents: begun.erased, incident_remains: begun.remains };
  await db.query(sql`
    insert into erasures (id, tenant, receipt)
    values (${receipt.id}, ${receipt.tenant}, ${JSON.stringify({ ...receipt, not_found: [], ...incidents })})
    on conflict (id) do update set
      receipt = erasures.receipt || (excluded.receipt - '{incidents,incident_remains}'::text[])`);
}

export type GoneIncidents = {
  readonly erased: NonNullable<EraseReceipt['incidents']>;
  readonly remains: EraseReceipt['remains'];
};

/** Notes in a receipt what has gone of incidents so far, and what of them remains, beside what remains of records. */
export async function setIncidents(
  db: Queryable,
  id: string,
  { erased, remains }: GoneIncidents,
): Promise<void> {
  await db.query(sql`
    update erasures set receipt = receipt || jsonb_build_object('incidents', ${JSON.stringify(erased)}::jsonb,
      'incident_remains', ${JSON.stringify(remains)}::jsonb)
    where id = ${id}`);
}

/** Notes that the key of the tenant's backups is to go, where an erasure has left neither a record nor an incident. */
export async function endBackupKey(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
): Promise<void> {
  // Records and incidents may go at the same moment: the later one sees that the other has gone.
  await db.query(sql`select from erasures where id = ${id} for update`);
  // The name of a key is the moment of the erasure before: it grows also where the clock was set back.
  await db.query(sql`
    update erasures set backup_key_ended_at = greatest(clock_timestamp(), (
      select max(before.backup_key_ended_at) + interval '1 microsecond' from erasures before
      where before.tenant = ${tenant}))
    where id = ${id} and backup_key_ended_at is null
      and not exists (select from leaf_tenants where tenant = ${tenant} and count > 0)
      and not exists (select from incidents where tenant = ${tenant} and erased_at is null)`);
}

/** Keys of backups that are to be removed; `ended` is the moment in microseconds. */
export async function listKeysToRemove(
  db: Queryable,
): Promise<{ id: string; tenant: string; ended: string }[]> {
  return db.query(sql`
    select id, tenant, (extract(epoch from backup_key_ended_at) * 1000000)::bigint::text as ended from erasures
    where backup_key_ended_at is not null and backup_key_removed_at is null order by backup_key_ended_at`);
}

export async function noteKeyRemoved(db: Queryable, id: string): Promise<void> {
  await db.query(sql`update erasures set backup_key_removed_at = now() where id = ${id}`);
}

/** Finds a receipt among those of these tenants; null means all. One of an earlier release names nothing. */
export async function findReceipt(
  db: Queryable,
  id: string,
  tenants: readonly string[] | null,
): Promise<EraseReceipt | undefined> {
  const [row] = await db.query<{ receipt: EraseReceipt }>(sql`
    select '{"versions": [], "exports": [], "counts_ended": 0, "counts": []}'::jsonb || (receipt - 'incident_remains') || jsonb_build_object(
        'remains', coalesce(receipt->'incident_remains', '[]') || (receipt->'remains'),
        'backup_key', case when backup_key_removed_at is not null then 'removed'
          when backup_key_ended_at is not null then 'due' end) as receipt from erasures
    where id = ${id} and (${tenants}::text[] is null or tenant = any(${tenants}::text[]))`);
  return row?.receipt;
}

/** Changes what a stored receipt says is left. */
export async function setRemains(db: Queryable, { id, remains }: EraseReceipt): Promise<void> {
  await db.query(sql`
    update erasures set receipt = receipt || jsonb_build_object('remains', ${JSON.stringify(remains)}::jsonb)
    where id = ${id}`);
}

/** Tables with texts of callers that may have named somebody, as the receipt calls them. */
export const textTables = {
  moves: 'the journal of moves',
  approvals: 'the requests for confirmation',
  dataset_versions: 'the dataset versions',
  export_schedules: 'the schedules',
  exports: 'the export jobs',
  record_counts: 'the counts of records',
  saved_views: 'the saved views',
  webhook_endpoints: 'the endpoints',
} as const;

/** The result of taking deleted rows out of PostgreSQL's files. */
export type Scrubbed = {
  /** Tables that were too large to be written anew. */
  readonly kept: readonly string[];
  /** Whether a checkpoint was made afterwards, which writes the new files to the disk. */
  readonly hasCheckpoint: boolean;
};

/**
 * Notes, together with the switch, which tables are to be scrubbed: the months of the deleted records and, if event ids
 * or a subject were given, those with texts that may name them. The months of cold records are among them, because the
 * rows that were deleted when these records became cold may still lie in the pages of their month.
 */
export async function queueScrub(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
  gone: readonly DayTriple[],
): Promise<void> {
  const months = new Set(gone.map(({ day }) => day.slice(0, 7)));
  const partitions = await db.query<{ name: string }>(sql`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass
      and replace(right(relname, 7), '_', '-') = any(${[...months]}::text[])
    order by relname`);
  await db.query(sql`
    update moves set scrub_due = ${partitions.map(({ name }) => name)}::text[]
      || case when coalesce(request->>'event_ids', request->>'subject') is null then '{}'
        else ${Object.keys(textTables)}::text[] end
    where tenant = ${tenant} and id = ${id}`);
}

/** Stores the result of a scrub and the tables that it has to come back to. */
export async function setScrubbed(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
  { due, scrubbed }: { due: readonly string[]; scrubbed: Scrubbed },
): Promise<void> {
  await db.query(sql`
    update moves set scrub_due = nullif(${due}::text[], '{}'), scrubbed = ${JSON.stringify(scrubbed)}::json
    where tenant = ${tenant} and id = ${id}`);
}

/**
 * Lists days with records after `after` up to `lastDay`, the oldest first, with their hot records. Days of dataset versions are left out, and
 * so is everything after the first of them that comes between: so the answer is one range of days without a day that
 * must be kept, and can be deleted as a range.
 */
export async function listDaysToGo(
  db: Queryable,
  tenant: string,
  page: { after: string | null; lastDay: string; limit: number; deleteVersioned: boolean },
): Promise<{ day: string; count: number; stores: number }[]> {
  const { after, lastDay, limit, deleteVersioned } = page;
  const windows = sql`dataset_version_windows
        where tenant = ${tenant} and not ${deleteVersioned}::boolean`;
  return db.query(sql`
    with own as materialized (
      select leaf_days.day, sum(count - cold_count)::bigint as hot_count, count(*) as stores from leaf_days
      where tenant = ${tenant} and leaf_days.day <= ${lastDay}::date
        and (${after}::date is null or leaf_days.day > ${after}::date)
      group by leaf_days.day
    ), free as materialized (
      select own.* from own cross join (
        select range_agg(daterange(first_day, until)) as days from ${windows}
      ) kept
      where not coalesce(own.day <@ kept.days, false)
    )
    select day::text as day, hot_count as count, stores from free where day < coalesce(
      (select min(first_day) from ${windows} and first_day > (select min(day) from free)),
      'infinity'::date)
    order by free.day limit ${raw(String(limit))}`);
}

/** Removes event ids and subject from the journal. Once they are erased, nobody needs to know which they were. */
export async function forgetRequest(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
): Promise<void> {
  await db.query(sql`update moves set request = null where tenant = ${tenant} and id = ${id}`);
}

/** Runs `work` and undoes all its changes. Returns its result. */
export async function doAndUndo<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.client.query('savepoint before');
  const result = await work();
  await connection.client.query('rollback to savepoint before');
  return result;
}

/** What has a `where` of its own: its text, those of an export and of the version that it is of, or the body of a request. */
type Condition = {
  readonly kind: 'export' | 'count' | 'version' | 'schedule' | 'endpoint' | 'approval';
  readonly id: string;
  readonly where: string;
  /** Whether it does nothing any more; of a request for confirmation, which loses its body by its end, always false. */
  readonly has_ended: boolean;
};

/** Lists what of a tenant has a `where`, without the request that is being done: what it was asked by is `requestId`. */
export async function listConditions(
  db: Queryable,
  tenant: string,
  requestId: string,
): Promise<Condition[]> {
  return db.query<Condition>(sql`
    select * from (
      select 'export' as kind, id, state not in ('queued', 'running') as has_ended,
        concat_ws(' and ', request->>'where', version->>'where') as "where"
      from exports where tenant = ${tenant}
      union all
      select 'count', id, finished_at is not null, request->>'where' from record_counts where tenant = ${tenant}
      union all
      select 'version', id, false, where_text from dataset_versions where tenant = ${tenant}
      union all
      select 'schedule', id, deleted_at is not null, request->>'where' from export_schedules where tenant = ${tenant}
      union all
      select 'endpoint', id, deleted_at is not null, filter from webhook_endpoints where tenant = ${tenant}
      union all
      select 'approval', id, false, body::text from approvals
      where (tenant = ${tenant} or tenant is null) and state = 'waiting' and request_id <> ${requestId}
    ) conditions where "where" <> ''`);
}

/** Puts another text in the place of the `where` of something that has ended. */
export async function forgetConditionOf(
  db: Queryable,
  { tenant, kind, id, masked }: Omit<Condition, 'has_ended'> & { tenant: string; masked: string },
): Promise<void> {
  const text = sql`to_jsonb(${masked}::text)`;
  const without = (column: string, path: string) =>
    sql`${raw(column)} = jsonb_set(${raw(column)}::jsonb, ${path}, ${text}, false)::json`;
  const ofTenant = sql`where tenant = ${tenant} and id = ${id}`;
  if (kind === 'export') {
    await db.query(sql`
      update exports set ${without('request', '{where}')}, ${without('version', '{where}')},
        ${without('manifest', '{request,where}')}, slice = (slice::jsonb - 'where')::json,
        -- The card in the file of a bundle has the condition, too.
        expires_at = case when format = 'bundle' then least(expires_at, now()) else expires_at end ${ofTenant}`);
  } else if (kind === 'count') {
    await db.query(sql`
      update record_counts set ${without('request', '{where}')}, slice = (slice::jsonb - 'where')::json ${ofTenant}`);
  } else if (kind === 'schedule') {
    await db.query(sql`update export_schedules set ${without('request', '{where}')} ${ofTenant}`);
  } else if (kind === 'endpoint') {
    await db.query(sql`update webhook_endpoints set filter = ${masked} ${ofTenant}`);
  }
}

type View = { readonly owner_id: string; readonly name: string; readonly address: string };

/** Lists the saved views that look at a tenant, or at all. */
export function listViews(db: Queryable, tenant: string): Promise<View[]> {
  return db.query<View>(sql`
    select owner_id, name, address from saved_views where tenant = ${tenant} or tenant is null`);
}

export async function deleteView(
  db: Queryable,
  { owner_id, name }: Pick<View, 'owner_id' | 'name'>,
): Promise<void> {
  await db.query(sql`delete from saved_views where owner_id = ${owner_id} and name = ${name}`);
}

import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/instant-sql.ts';
import type { MoveKind, MoveState } from '../contract.ts';

/** A move of the journal. Digests are decimal text. */
export type JournalRow = {
  id: string;
  tenant: string;
  run_id: string | null;
  kind: MoveKind;
  state: MoveState;
  first_day: string;
  last_day: string;
  source_count: number | null;
  source_bytes: number | null;
  source_digest: string | null;
  object_count: number | null;
  object_bytes: number | null;
  object_digest: string | null;
  gone_count: number;
  gone_bytes: number;
  gone_digest: string;
  stored_bytes: number | null;
  segments_in: number;
  segments_out: number;
  planned_at: string;
  copied_at: string | null;
  verified_at: string | null;
  switched_at: string | null;
  removed_at: string | null;
  failed_at: string | null;
  failed_in: MoveState | null;
  error_code: string | null;
  error: string | null;
};

/** What no index finds in the order of the journal. */
export type MoveFilter = {
  kind?: MoveKind | undefined;
  state?: MoveState | undefined;
  runId?: string | undefined;
};

/** A move's place in the journal. */
export type MoveKey = readonly [plannedAt: string, id: string];

/** Of moves under the name m. */
const columns = sql`m.id, m.tenant, m.run_id, m.kind, m.state, m.first_day, m.last_day,
  m.source_count, m.source_bytes, m.source_digest, m.object_count, m.object_bytes, m.object_digest,
  m.gone_count, m.gone_bytes, m.gone_digest, m.stored_bytes, objects.segments_in, objects.segments_out,
  ${instantText('m.planned_at')} as planned_at, ${instantText('m.copied_at')} as copied_at,
  ${instantText('m.verified_at')} as verified_at, ${instantText('m.switched_at')} as switched_at,
  ${instantText('m.removed_at')} as removed_at, ${instantText('m.failed_at')} as failed_at,
  m.failed_in, m.error_code, m.error`;
const withObjects = raw(`cross join lateral (
    select count(*) filter (where s.role = 'in') as segments_in,
      count(*) filter (where s.role = 'out') as segments_out
    from move_segments s where s.tenant = m.tenant and s.move_id = m.id
  ) objects`);

/**
 * The latest moves before `after`. Filters are applied to the first `scanLimit` of them only, so that a
 * seldom state does not read the whole journal.
 */
export async function listMoves(
  db: Queryable,
  filter: MoveFilter & { tenants: readonly string[] | null },
  page: { after: MoveKey | null; limit: number; scanLimit: number },
): Promise<JournalRow[]> {
  return db.query<JournalRow>(sql`
    select ${columns} from (
      select * from (${scan(filter.tenants, page)}) m ${where(conditions(filter))}
      order by m.planned_at desc, m.id desc limit ${raw(String(page.limit))}
    ) m ${withObjects} order by m.planned_at desc, m.id desc`);
}

/** The last of the moves that a page looked at; undefined at the end of the journal. */
export async function findScanEnd(
  db: Queryable,
  tenants: readonly string[] | null,
  page: { after: MoveKey | null; scanLimit: number },
): Promise<MoveKey | undefined> {
  const rows = await db.query<{ planned_at: string; id: string }>(sql`
    select ${instantText('m.planned_at')} as planned_at, m.id from (${scan(tenants, page)}) m
    order by m.planned_at desc, m.id desc offset ${page.scanLimit - 1} limit 1`);
  return rows[0] && [rows[0].planned_at, rows[0].id];
}

/**
 * A tenant at a time along its index, no further than the page needs: `tenant = any(…)` would read and sort
 * all that these tenants have.
 */
function scan(
  tenants: readonly string[] | null,
  { after, scanLimit }: { after: MoveKey | null; scanLimit: number },
): Sql {
  const [plannedAt, id] = after ?? [];
  const isBefore =
    after === null ? sql`true` : sql`(m.planned_at, m.id) < (${plannedAt}::timestamptz, ${id})`;
  const latest = sql`order by m.planned_at desc, m.id desc limit ${raw(String(scanLimit))}`;
  if (tenants === null) return sql`select * from moves m where ${isBefore} ${latest}`;
  return sql`
    select m.* from unnest(${tenants}::text[]) wanted (tenant) cross join lateral (
      select * from moves m where m.tenant = wanted.tenant and ${isBefore} ${latest}
    ) m ${latest}`;
}

function conditions({ kind, state, runId }: MoveFilter): Sql[] {
  const all: Sql[] = [];
  if (kind !== undefined) all.push(sql`m.kind = ${kind}`);
  if (state !== undefined) all.push(sql`m.state = ${state}`);
  if (runId !== undefined) all.push(sql`m.run_id = ${runId}`);
  return all;
}

function where(all: readonly Sql[]): Sql {
  return all.length === 0 ? empty : sql`where ${join([...all], ' and ')}`;
}

export async function findMove(
  db: Queryable,
  id: string,
  tenants: readonly string[] | null,
): Promise<JournalRow | undefined> {
  const rows = await db.query<JournalRow>(sql`
    select ${columns} from moves m ${withObjects}
    where m.id = ${id} and (${tenants}::text[] is null or m.tenant = any(${tenants}::text[]))`);
  return rows[0];
}

/**
 * Tenants whose latest move failed: their data stays where it is until someone looks. One that a hold, a
 * longer policy or a dataset version called off is no failure. Beside them those whose latest move the full store
 * stopped.
 */
export async function countFailedTenants(
  db: Queryable,
): Promise<{ failed: number; storeFull: number }> {
  const rows = await db.query<{ failed: number; storeFull: number }>(sql`
    select count(*) filter (where latest.state = 'failed' and coalesce(latest.error_code, '') not in
        ('tenant_on_hold', 'not_due', 'kept_by_version')) as failed,
      count(*) filter (where latest.error_code = 'store_full') as "storeFull"
    from leaf_tenants t cross join lateral (
      select m.state, m.error_code from moves m where m.tenant = t.tenant
      order by m.planned_at desc, m.id desc limit 1
    ) latest`);
  return rows[0] ?? { failed: 0, storeFull: 0 };
}

type Batch = { days: number; limit: number };

/** Answers how many; see pruneHistory for which stay. */
export async function deleteOldMoves(db: Queryable, { days, limit }: Batch): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with old as materialized (
      select m.tenant, m.id from moves m
      where m.planned_at < now() - make_interval(days => ${days}) and m.state in ('removed', 'failed')
        and coalesce(m.removed_at, m.failed_at) < now() - make_interval(days => ${days})
        and not exists (
          select from object_removals r where r.tenant = m.tenant and r.move_id = m.id)
        and exists (
          select from moves later where later.tenant = m.tenant
            and (later.planned_at, later.id) > (m.planned_at, m.id))
      order by m.planned_at, m.id limit ${limit}
    ), segments as (
      delete from move_segments s using old where s.tenant = old.tenant and s.move_id = old.id
    ), days as (
      delete from move_days d using old where d.tenant = old.tenant and d.move_id = old.id
    ), gone as (
      delete from moves m using old where m.tenant = old.tenant and m.id = old.id returning m.id
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

export async function deleteOldRuns(db: Queryable, { days, limit }: Batch): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from retention_runs where id in (
        select id from retention_runs run
        where state in ('completed', 'failed') and finished_at < now() - make_interval(days => ${days})
          and not exists (select from moves where run_id = run.id)
          and exists (
            select from retention_runs later where later.requested_at > run.requested_at)
        order by requested_at limit ${limit})
      returning id
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

export async function deleteOldVerifications(
  db: Queryable,
  { days, limit }: Batch,
): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    with gone as (
      delete from verifications where id in (
        select id from verifications v
        where state in ('completed', 'failed') and finished_at < now() - make_interval(days => ${days})
          and exists (select from verifications later where later.requested_at > v.requested_at)
        order by requested_at limit ${limit})
      returning id
    ) select count(*) as count from gone`);
  return rows[0]?.count ?? 0;
}

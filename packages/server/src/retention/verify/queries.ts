import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { VerificationRow, VerifyProblem } from '../schemas.contract.ts';

const columns = sql`v.id, v.state,
  case when v.state = 'completed' then v.problem_count = 0 end as ok, v.tenant, v.requested_by,
  ${instantText('v.requested_at')} as requested_at, ${instantText('v.started_at')} as started_at,
  ${instantText('v.finished_at')} as finished_at, v.segments_total, v.segments_done, v.bytes_total,
  v.bytes_done, v.records_done, v.problem_count, v.problems, v.error`;

export type NewVerification = {
  id: string;
  tenant: string | null;
  /** The tenants that whoever asked may touch; null means all. */
  tenants: readonly string[] | null;
  requestedBy: string;
};

export async function insertVerification(
  db: Queryable,
  made: NewVerification,
): Promise<VerificationRow | undefined> {
  const rows = await db.query<VerificationRow>(sql`
    insert into verifications as v (id, tenant, tenants, requested_by)
    values (${made.id}, ${made.tenant}, ${made.tenants}, ${made.requestedBy})
    returning ${columns}`);
  return rows[0];
}

/** Lists verifications, the latest first. */
export async function listVerifications(
  db: Queryable,
  reach: readonly string[] | null,
  page: { after: readonly string[] | null; limit: number },
): Promise<VerificationRow[]> {
  const after =
    page.after === null
      ? sql`true`
      : sql`(v.requested_at, v.id) < (${page.after[0]}::timestamptz, ${page.after[1]})`;
  return db.query<VerificationRow>(sql`
    select ${columns} from verifications v where ${isVisible(reach)} and ${after}
    order by v.requested_at desc, v.id desc limit ${page.limit}`);
}

export async function findVerification(
  db: Queryable,
  reach: readonly string[] | null,
  id: string,
): Promise<VerificationRow | undefined> {
  const rows = await db.query<VerificationRow>(sql`
    select ${columns} from verifications v where v.id = ${id} and ${isVisible(reach)}`);
  return rows[0];
}

/** A caller who is limited to tenants sees only verifications that looked at no other tenants. */
function isVisible(reach: readonly string[] | null): Sql {
  if (reach === null) return sql`true`;
  return sql`(v.tenant = any(${reach}::text[]) or v.tenants <@ ${reach}::text[])`;
}

export async function hasOpenVerification(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    sql`select id from verifications where state in ('queued', 'running') limit 1`,
  );
  return rows.length > 0;
}

export type Claimed = {
  id: string;
  tenant: string | null;
  tenants: string[] | null;
  /** Identifies this claim: processes that had claimed the verification before can change nothing. */
  started_at: string;
};

/**
 * Claims the next verification, which begins from its start; undefined when none waits. Only the holder of the lock may
 * call this: for it, one that is running must have been left behind.
 */
export async function claimVerification(db: Queryable): Promise<Claimed | undefined> {
  const rows = await db.query<Claimed>(sql`
    update verifications v set state = 'running', started_at = clock_timestamp(), segments_total = null,
      segments_done = 0, bytes_total = null, bytes_done = 0, records_done = 0, problem_count = 0,
      problems = '[]'
    where v.id = (
      select id from verifications where state in ('queued', 'running')
      order by state desc, requested_at, id limit 1
    ) and v.state in ('queued', 'running')
    returning v.id, v.tenant, v.tenants, ${instantText('v.started_at')} as started_at`);
  return rows[0];
}

export type VerifyProgress = {
  segments_total: number | null;
  segments_done: number;
  bytes_total: number | null;
  bytes_done: number;
  records_done: number;
  problem_count: number;
  problems: readonly VerifyProblem[];
};

/** Stores the progress. Returns false when another process has claimed the verification by now. */
export async function saveProgress(
  db: Queryable,
  claimed: Claimed,
  progress: VerifyProgress,
): Promise<boolean> {
  const rows = await db.query(sql`
    update verifications v set segments_total = ${progress.segments_total},
      segments_done = ${progress.segments_done}, bytes_total = ${progress.bytes_total},
      bytes_done = ${progress.bytes_done}, records_done = ${progress.records_done},
      problem_count = ${progress.problem_count}, problems = ${JSON.stringify(progress.problems)}
    where ${isStillOf(claimed)} returning v.id`);
  return rows.length > 0;
}

export async function finishVerification(
  db: Queryable,
  claimed: Claimed,
  end: { state: 'completed' | 'failed'; error: string | null },
): Promise<void> {
  await db.query(sql`
    update verifications v set state = ${end.state}, error = ${end.error}, finished_at = clock_timestamp()
    where ${isStillOf(claimed)}`);
}

function isStillOf({ id, started_at }: Claimed): Sql {
  return sql`v.id = ${id} and v.state = 'running' and v.started_at = ${started_at}::timestamptz`;
}

/** A live segment, as the catalogue describes it. */
export type LiveSegment = {
  tenant: string;
  id: string;
  object_key: string;
  size_bytes: number;
  sha256: Buffer;
  count: number;
  bytes: number;
  digest: string;
  first_day: string;
  last_day: string;
};

/** Lists live segments by tenant and id, after `page.after`. */
export async function listSegments(
  db: Queryable,
  tenants: readonly string[] | null,
  page: { after: readonly [tenant: string, id: string] | null; limit: number },
): Promise<LiveSegment[]> {
  const after =
    page.after === null ? sql`true` : sql`(tenant, id) > (${page.after[0]}, ${page.after[1]})`;
  return db.query<LiveSegment>(sql`
    select tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day
    from segments where ${inScope(tenants)} and ${after}
    order by tenant, id limit ${page.limit}`);
}

/** Counts the live segments and the bytes of their objects. */
export async function measureSegments(
  db: Queryable,
  tenants: readonly string[] | null,
): Promise<{ segments: number; bytes: number }> {
  const rows = await db.query<{ segments: number; bytes: number }>(sql`
    select count(*) as segments, coalesce(sum(size_bytes), 0)::bigint as bytes
    from segments where ${inScope(tenants)}`);
  return rows[0] ?? { segments: 0, bytes: 0 };
}

export async function isLive(db: Queryable, segment: LiveSegment): Promise<boolean> {
  const rows = await db.query(sql`
    select id from segments where tenant = ${segment.tenant} and id = ${segment.id}`);
  return rows.length > 0;
}

export type CataloguedDay = {
  store: string;
  day: string;
  first_row: number;
  count: number;
  bytes: number;
  digest: string;
  stored_bytes: number;
};

/** Lists the days that a segment holds, by the catalogue. */
export async function listSegmentDays(
  db: Queryable,
  { tenant, id }: Pick<LiveSegment, 'tenant' | 'id'>,
): Promise<CataloguedDay[]> {
  return db.query<CataloguedDay>(sql`
    select store, day, first_row, count, bytes, digest, stored_bytes
    from segment_days where tenant = ${tenant} and segment_id = ${id}
    order by store, day`);
}

/**
 * An object that was found. `tenant` is null when the key does not tell it; `exportId` when it is no file of an export.
 */
export type FoundObject = { tenant: string | null; key: string; exportId: string | null };

/**
 * Lists those of these objects that nothing names: no live segment, no open move, no export and no removal to come. An
 * export that has removed all of its files is marked as such afterwards, so until then its files are known. Objects
 * without a tenant are looked for among all tenants; they are rare, since only very long names are cut.
 */
export async function listUnknownObjects(
  db: Queryable,
  objects: readonly FoundObject[],
): Promise<string[]> {
  const rows = await db.query<{ key: string }>(sql`
    with found as (
      select f.tenant, f.key, f.export_id
      from unnest(${objects.map(({ tenant }) => tenant)}::text[],
        ${objects.map(({ key }) => key)}::text[],
        ${objects.map(({ exportId }) => exportId)}::text[]) as f (tenant, key, export_id)
    )
    ${unknownOf(sql`f.tenant is not null`, (table) => raw(`${table}.tenant = f.tenant`))}
    union all
    ${unknownOf(sql`f.tenant is null`, () => raw('true'))}`);
  return rows.map(({ key }) => key);
}

function unknownOf(which: Sql, isOfTenant: (table: string) => Sql): Sql {
  return sql`
    select f.key from found f
    where ${which}
      and not exists (select from segments s where ${isOfTenant('s')} and s.object_key = f.key)
      and not exists (
        select from exports e where e.id = f.export_id and e.files_removed_at is null
      )
      and not exists (select from object_removals r where ${isOfTenant('r')} and r.object_key = f.key)
      and not exists (
        select from moves m
        join move_segments ms on ms.tenant = m.tenant and ms.move_id = m.id
        where ${isOfTenant('m')} and m.state not in ('removed', 'failed')
          and ms.role = 'out' and ms.object_key = f.key
      )`;
}

function inScope(tenants: readonly string[] | null): Sql {
  return tenants === null ? raw('true') : sql`tenant = any(${tenants}::text[])`;
}

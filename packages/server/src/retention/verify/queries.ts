import sql, { raw, type Sql } from 'sql-template-tag';
import type { StateRow } from '../../platform/metrics/figures.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { hasFreeShare, heldLocks } from '../../platform/postgres/shares.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { VerificationRow, VerifyProblem } from '../schemas.contract.ts';

/** One that waits for its store is stored as running, as the previous release knows it. */
const isWaiting = sql`v.state = 'running' and v.waiting_since is not null`;
const columns = sql`v.id, case when ${isWaiting} then 'waiting' else v.state end as state,
  case when ${isWaiting} then ${instantText('v.waiting_since')} end as waiting_since,
  case when ${isWaiting} then v.waiting_for end as waiting_for,
  case when v.state = 'completed' then v.problem_count = 0 end as ok, v.tenant, v.requested_by,
  ${instantText('v.requested_at')} as requested_at, ${instantText('v.started_at')} as started_at,
  ${instantText('v.finished_at')} as finished_at, ${instantText('v.since')} as since, v.sample_percent,
  v.segments_total, v.segments_done, v.bytes_total, v.bytes_done, v.records_done, v.problem_count,
  v.problems, v.error`;

/** What a verification looks at. */
export type VerifyScope = {
  tenant: string | null;
  /** The tenants that whoever asked may touch; null means all. */
  tenants: readonly string[] | null;
  /** Only segments, and counters of tenants, that were not found right since then; null means all. */
  since: string | null;
  /** Reads so many percent of the segments, and of the counters; null means all. */
  sample_percent: number | null;
};

export type NewVerification = VerifyScope & {
  id: string;
  /** null means the schedule. */
  requestedBy: string | null;
};

export async function insertVerification(
  db: Queryable,
  made: NewVerification,
): Promise<VerificationRow | undefined> {
  const rows = await db.query<VerificationRow>(sql`
    insert into verifications as v (id, tenant, tenants, since, sample_percent, requested_by)
    values (${made.id}, ${made.tenant}, ${made.tenants}, ${made.since}::timestamptz,
      ${made.sample_percent}, ${made.requestedBy})
    returning ${columns}`);
  return rows[0];
}

/**
 * Queues a verification of what was not verified for so many days, unless an earlier one of the schedule has not ended.
 */
export async function insertScheduledVerification(
  db: Queryable,
  { id, days }: { id: string; days: number },
): Promise<void> {
  await db.query(sql`
    insert into verifications (id, since)
    select ${id}, now() - make_interval(days => ${days})
    where not exists (
      select from verifications where state in ('queued', 'running') and requested_by is null)`);
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

/** The latest verifications, without their problems, which may be many. */
export async function listLatestVerifications(
  db: Queryable,
  reach: readonly string[] | null,
  limit: number,
): Promise<Omit<VerificationRow, 'problems'>[]> {
  return db.query(sql`
    select ${columns} from (
      select id, state, tenant, tenants, requested_by, requested_at, started_at, finished_at, since,
        sample_percent, segments_total, segments_done, bytes_total, bytes_done, records_done, problem_count,
        null::json as problems, error, waiting_since, waiting_for
      from verifications v where ${isVisible(reach)}
      order by v.requested_at desc, v.id desc limit ${limit}
    ) v order by v.requested_at desc, v.id desc`);
}

/** Counts those that have not ended, and the bytes that are read in them, for the metrics. */
export async function countOpenVerifications(
  db: Queryable,
): Promise<(StateRow & { done: number })[]> {
  return db.query(sql`
    select state, count(*) as count, sum(bytes_done)::bigint as done,
      extract(epoch from now() - min(coalesce(started_at, requested_at)))::float8 as age_seconds
    from verifications where state in ('queued', 'running') group by state`);
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

/** The verification that processes are at work on, or else the next one: one is done at a time. */
const current = sql`
  select id from verifications where state in ('queued', 'running')
  order by state desc, requested_at, id limit 1`;

/** Whether a verification waits for somebody to begin it, to do a share of it that nobody has, or to end it. */
export async function hasFreeVerification(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ has_free: boolean }>(sql`
    with ${heldLocks}
    select not is_divided or ${hasFreeShare(sql`v.id`)} as has_free
    from verifications v where id = (${current})`);
  return rows[0]?.has_free ?? false;
}

export type Claimed = VerifyScope & { id: string; is_divided: boolean };

/**
 * Takes the verification to work on; undefined when there is none. It is locked until the end of the transaction, so
 * that one process divides it and the others wait. One that is not divided begins from its start.
 */
export async function takeVerification(connection: Queryable): Promise<Claimed | undefined> {
  const rows = await connection.query<Claimed>(sql`
    update verifications v set state = 'running',
      started_at = case when is_divided then started_at else clock_timestamp() end, waiting_since = null
    where v.id = (${current} for update)
    returning v.id, v.tenant, v.tenants, ${instantText('v.since')} as since, v.sample_percent, v.is_divided`);
  return rows[0];
}

/** Notes that a verification is cut into shares, of which none is done. */
export async function noteDivided(
  connection: Queryable,
  id: string,
  totals: { segments: number; bytes: number },
): Promise<void> {
  await connection.query(sql`
    update verifications set is_divided = true, segments_total = ${totals.segments}, segments_done = 0,
      bytes_total = ${totals.bytes}, bytes_done = 0, records_done = 0, problem_count = 0, problems = '[]'
    where id = ${id}`);
}

/** What a share of a verification found. */
export type Findings = {
  segments: number;
  bytes: number;
  records: number;
  problem_count: number;
  /** The first of the problems. */
  problems: readonly VerifyProblem[];
};

/** The most problems that a verification lists. */
export const listedProblems = 1000;

/** Adds what a share found to its verification. */
export async function addFindings(
  connection: Queryable,
  id: string,
  found: Findings,
): Promise<void> {
  if (found.problems.length > 0) {
    const [row] = await connection.query<{ problems: VerifyProblem[] }>(
      sql`select problems from verifications where id = ${id} for update`,
    );
    const problems = [...(row?.problems ?? []), ...found.problems].slice(0, listedProblems);
    await connection.query(
      sql`update verifications set problems = ${JSON.stringify(problems)} where id = ${id}`,
    );
  }
  await connection.query(sql`
    update verifications set segments_done = segments_done + ${found.segments},
      bytes_done = bytes_done + ${found.bytes}, records_done = records_done + ${found.records},
      problem_count = problem_count + ${found.problem_count}
    where id = ${id}`);
}

/** Notes why a verification waits, and for how long it has; null when it goes on. */
export async function noteWaiting(
  db: Queryable,
  id: string,
  waiting: { reason: string; seconds: number } | null,
): Promise<void> {
  const { reason = null, seconds = null } = waiting ?? {};
  await db.query(sql`
    update verifications set waiting_for = ${reason},
      waiting_since = case when ${reason}::text is not null
        then coalesce(waiting_since, now() - make_interval(secs => ${seconds}::float8)) end
    where id = ${id}`);
}

export async function isOpenVerification(db: Queryable, id: string): Promise<boolean> {
  const rows = await db.query(
    sql`select id from verifications where id = ${id} and state = 'running'`,
  );
  return rows.length > 0;
}

export async function finishVerification(
  db: Queryable,
  id: string,
  end: { state: 'completed' | 'failed'; error: string | null },
): Promise<void> {
  await db.query(sql`
    update verifications v set state = ${end.state}, error = ${end.error}, finished_at = clock_timestamp()
    where v.id = ${id} and v.state = 'running'`);
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

/** The place of a segment in the catalogue. */
export type SegmentKey = readonly [tenant: string, id: string];

/** Which segments of the catalogue, by tenant and id: those after `after`, up to `last`. */
type SegmentPage = {
  tenants: readonly string[] | null;
  since?: string | null;
  after: SegmentKey | null;
  last?: SegmentKey;
  limit: number;
};

/** Lists live segments by tenant and id. */
export async function listSegments(db: Queryable, page: SegmentPage): Promise<LiveSegment[]> {
  return db.query<LiveSegment>(sql`
    select tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day
    from segments where ${onPage(page)} order by tenant, id limit ${page.limit}`);
}

/** Lists no more of them than it takes to divide them. */
export async function listSegmentKeys(
  db: Queryable,
  page: SegmentPage,
): Promise<{ tenant: string; id: string; size_bytes: number }[]> {
  return db.query(sql`
    select tenant, id, size_bytes from segments
    where ${onPage(page)} order by tenant, id limit ${page.limit}`);
}

function onPage({ tenants, since = null, after, last }: SegmentPage): Sql {
  return sql`${tenants === null ? raw('true') : sql`tenant = any(${tenants}::text[])`}
    and ${since === null ? raw('true') : sql`(verified_at is null or verified_at < ${since}::timestamptz)`}
    and ${after === null ? raw('true') : sql`(tenant, id) > (${after[0]}, ${after[1]})`}
    and ${last === undefined ? raw('true') : sql`(tenant, id) <= (${last[0]}, ${last[1]})`}`;
}

/**
 * Notes that these segments were found as they should be, a tenant at a time. It waits for nobody: a segment that a move
 * has locked is about to go.
 */
export async function noteVerifiedSegments(
  connection: Queryable,
  segments: readonly Pick<LiveSegment, 'tenant' | 'id'>[],
): Promise<void> {
  for (const tenant of new Set(segments.map((segment) => segment.tenant))) {
    const ids = segments.filter((segment) => segment.tenant === tenant).map(({ id }) => id);
    await connection.query(sql`
      update segments set verified_at = now()
      where tenant = ${tenant} and id in (
        select id from segments where tenant = ${tenant} and id = any(${ids}::text[])
        for update skip locked)`);
  }
}

/** Notes that the counters of these tenants were found right. */
export async function noteVerifiedTenants(
  connection: Queryable,
  tenants: readonly string[],
): Promise<void> {
  await connection.query(sql`
    insert into verified_tenants (tenant, verified_at)
    select tenant, clock_timestamp() from unnest(${tenants}::text[]) as verified (tenant)
    on conflict (tenant) do update set verified_at = excluded.verified_at`);
}

/** Whether the counters of a tenant were found right since then. */
export async function isVerifiedSince(
  db: Queryable,
  tenant: string,
  since: string,
): Promise<boolean> {
  const rows = await db.query(sql`
    select tenant from verified_tenants
    where tenant = ${tenant} and verified_at >= ${since}::timestamptz`);
  return rows.length > 0;
}

/** Lists every so many tenants in the order of their names, to cut the tenants into stretches. */
export async function listBorders(db: Queryable, every: number): Promise<string[]> {
  const rows = await db.query<{ tenant: string }>(sql`
    select tenant from (
      select tenant, row_number() over (order by tenant) as number from leaf_tenants
    ) numbered where mod(number, ${every}::bigint) = 0 order by tenant`);
  return rows.map(({ tenant }) => tenant);
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

/** Lists the days that segments hold, by the catalogue. `place` is that of the segment among the given ones. */
export async function listSegmentDays(
  db: Queryable,
  segments: readonly Pick<LiveSegment, 'tenant' | 'id'>[],
): Promise<(CataloguedDay & { place: number })[]> {
  return db.query(sql`
    with asked as materialized (
      select a.tenant, a.id, (a.number - 1)::integer as place
      from unnest(${segments.map(({ tenant }) => tenant)}::text[],
        ${segments.map(({ id }) => id)}::text[]) with ordinality as a (tenant, id, number)
    )
    select a.place, d.store, d.day, d.first_row, d.count, d.bytes, d.digest, d.stored_bytes
    from asked a join segment_days d on d.tenant = a.tenant and d.segment_id = a.id
    order by a.place, d.store, d.day`);
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
  const isOfTenant = (table: string) => raw(`${table}.tenant = f.tenant`);
  const rows = await db.query<{ key: string }>(sql`
    with found as materialized (
      select f.tenant, f.key, f.export_id
      from unnest(${objects.map(({ tenant }) => tenant)}::text[],
        ${objects.map(({ key }) => key)}::text[],
        ${objects.map(({ exportId }) => exportId)}::text[]) as f (tenant, key, export_id)
    ), known as materialized (
      ${knownOf(isOfTenant)} union all ${knownOf(() => raw('f.tenant is null'))}
    )
    select f.key from found f
    where not exists (select from known where known.key = f.key)
      and not exists (select from exports e where e.id = f.export_id and e.files_removed_at is null)`);
  return rows.map(({ key }) => key);
}

/** The keys that are known; the tables of records are joined with what was found, so that a cluster can answer. */
function knownOf(isOfTenant: (table: string) => Sql): Sql {
  return sql`
    select f.key from found f join segments s on ${isOfTenant('s')} and s.object_key = f.key
    union all
    select f.key from found f join object_removals r on ${isOfTenant('r')} and r.object_key = f.key
    union all
    select f.key from found f
    join move_segments ms on ${isOfTenant('ms')} and ms.object_key = f.key and ms.role = 'out'
    join moves m on m.tenant = ms.tenant and m.id = ms.move_id
    where m.state not in ('removed', 'failed')`;
}

import sql, { raw, type Sql } from 'sql-template-tag';
import {
  type JobState,
  type JobTable,
  listedOf,
  shownColumns,
} from '../../platform/jobs/queries.ts';
import { onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { LiveSegment as CataloguedSegment, Triple } from '../../records/segments.ts';
import type { VerificationRow, VerifyProblem } from '../schemas.contract.ts';

/** Verifications without their problems, which may be many. */
export const verifications: JobTable = {
  name: 'verifications',
  list: 'verifications',
  columns: sql`case when j.state = 'completed' then j.problem_count = 0 end as ok,
    ${instantText('j.since')} as since, j.sample_percent, j.segments_total, j.segments_done, j.bytes_total,
    j.bytes_done, j.records_done, j.problem_count`,
  done: sql`j.bytes_done`,
  missing: {
    code: 'verification_not_found',
    detail: 'There is no verification with this id. See GET /retention/verify.',
  },
};
export const withProblems: JobTable = {
  ...verifications,
  columns: sql`${verifications.columns}, j.problems`,
};

/** Where the list of all jobs finds verifications. */
export const listedVerifications = listedOf(verifications, {
  total: raw('j.bytes_total'),
  told: sql`json_build_object('is_limited', j.tenants is not null, 'problems', j.problem_count,
    'sample_percent', j.sample_percent)`,
});

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

type NewVerification = VerifyScope & {
  id: string;
  /** null means the schedule. */
  requestedBy: string | null;
};

export async function insertVerification(
  db: Queryable,
  made: NewVerification,
): Promise<VerificationRow> {
  const rows = await db.query<VerificationRow>(sql`
    insert into verifications as j (id, tenant, tenants, since, sample_percent, requested_by)
    values (${made.id}, ${made.tenant}, ${made.tenants}, ${made.since}::timestamptz,
      ${made.sample_percent}, ${made.requestedBy})
    returning ${shownColumns(withProblems)}`);
  return onlyRow(rows);
}

/** Queues a verification of what was not verified for so many days, unless an earlier scheduled one has not ended. */
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

/** A verification as its work knows it. */
export type Claimed = VerifyScope & JobState;

/** Notes how much a verification will read. */
export async function noteTotals(
  connection: Queryable,
  id: string,
  totals: { segments: number; bytes: number },
): Promise<void> {
  await connection.query(sql`
    update verifications set segments_total = ${totals.segments}, bytes_total = ${totals.bytes}
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

/** A live segment, as the catalogue describes it. */
export type LiveSegment = CataloguedSegment & Triple & { tenant: string };

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

/** Reads all segments of a page and of those that follow it, so many at once. */
async function* walk<Row extends { tenant: string; id: string }>(
  of: SegmentPage,
  list: (page: SegmentPage) => Promise<Row[]>,
): AsyncGenerator<Row> {
  for (let { after } = of; ; ) {
    const rows = await list({ ...of, after });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < of.limit) return;
    after = [last.tenant, last.id];
  }
}

/** Reads live segments by tenant and id, `limit` at once. */
export const eachSegment = (db: Queryable, of: SegmentPage) =>
  walk(of, (page) => listSegments(db, page));

/** Lists live segments by tenant and id. */
export async function listSegments(db: Queryable, page: SegmentPage): Promise<LiveSegment[]> {
  return db.query<LiveSegment>(sql`
    select tenant, id, object_key, size_bytes, sha256, count, bytes, digest, first_day, last_day
    from segments where ${onPage(page)} order by tenant, id limit ${page.limit}`);
}

/** Reads no more of them than it takes to divide them. */
export const eachSegmentKey = (db: Queryable, of: SegmentPage) =>
  walk(of, (page) =>
    db.query<{ tenant: string; id: string; size_bytes: number }>(sql`
      select tenant, id, size_bytes from segments
      where ${onPage(page)} order by tenant, id limit ${page.limit}`),
  );

function onPage({ tenants, since = null, after, last }: SegmentPage): Sql {
  return sql`${tenants === null ? raw('true') : sql`tenant = any(${tenants}::text[])`}
    and ${since === null ? raw('true') : sql`(verified_at is null or verified_at < ${since}::timestamptz)`}
    and ${after === null ? raw('true') : sql`(tenant, id) > (${after[0]}, ${after[1]})`}
    and ${last === undefined ? raw('true') : sql`(tenant, id) <= (${last[0]}, ${last[1]})`}`;
}

/** Notes segments as right, a tenant at a time. It waits for nobody: one that a move has locked is about to go. */
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

/** An object that was found. `tenant` is null when its key does not tell it, `exportId` when it is no export's. */
type FoundObject = { tenant: string | null; key: string; exportId: string | null };

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

/** Reads the filters of event ids of those segments that have one, with their places among those that were given. */
export async function readFilters(
  db: Queryable,
  segments: readonly LiveSegment[],
): Promise<{ place: number; filter: Buffer }[]> {
  return db.query(sql`
    select (asked.number - 1)::integer as place, segment.event_filter as filter
    from unnest(${segments.map(({ tenant }) => tenant)}::text[], ${segments.map(({ id }) => id)}::text[])
      with ordinality as asked(tenant, id, number)
    join segments segment on segment.tenant = asked.tenant and segment.id = asked.id
    where segment.event_filter is not null`);
}

/** Takes the filter of a segment away, so that it is searched again. */
export async function dropFilter(db: Queryable, { tenant, id }: LiveSegment): Promise<void> {
  await db.query(
    sql`update segments set event_filter = null where tenant = ${tenant} and id = ${id}`,
  );
}

import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import { findJobRow, type ListedTable, listJobRows } from '../../platform/jobs/listed-queries.ts';
import { onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { instantText, maskedUrl } from '../../platform/postgres/sql-text.ts';
import type { JobRow } from '../contract.ts';
import { lockReady, outcomeOfJob, type PacedTable, toldOutcome } from '../paced-queries.ts';
import type { BulkAction, DeadLetterStatus, FailureClass } from '../values.ts';
import { type CountFilter, countConditions, where } from './read-queries.ts';

/** Whether somebody has disabled the endpoint `e` since the job `j` was made. One that was before was to be skipped. */
const isClosedSince = sql`not e.enabled and e.deleted_at is null and e.disabled_at > j.snapshot_at`;
/** Whether a bulk retry of one endpoint waits for it. */
const isHeldUp = sql`(j.action = 'retry' and j.state in ('running', 'paused') and exists (
  select from webhook_endpoints e where e.id = j.endpoint_id and ${isClosedSince}))`;
/** The type as people are told it: where types begin with it, the column has a dot at its end. */
const toldType = raw("regexp_replace(j.event_type, '[.]$', '.*')");
const columns = sql`j.id, j.action, j.state, j.status, j.tenant, j.endpoint_id, j.failure_class, ${toldType} as event_type,
  ${instantText('j.failed_from')} as failed_from, ${instantText('j.failed_to')} as failed_to, j.rate,
  ${isHeldUp} as waits_for_endpoint, j.rows_total, j.rows_done, j.rows_skipped,
  coalesce((j.position ->> 'left')::int, 0) as rows_left, ${outcomeOfJob} as outcome, j.created_by, ${instantText('j.created_at')} as created_at,
  ${instantText('j.updated_at')} as updated_at, ${instantText('j.finished_at')} as finished_at`;

/** What a bulk job selects of the dead letters; null means any. */
type JobFilter = Pick<
  JobRow,
  'status' | 'tenant' | 'endpoint_id' | 'failure_class' | 'event_type' | 'failed_from'
>;
/** The tenants that the maker of a job may touch; null means all. */
type Reach = readonly string[] | null;

export type NewBulkJob = JobFilter &
  Pick<JobRow, 'id' | 'action' | 'failed_to' | 'rate'> & {
    reach: Reach;
    rowsTotal: number;
    createdBy: string;
    /** For endpoints that have no number of their own: that of the process that made the job. */
    maxAttempts: number;
  };

/** So far ahead of the time is what the previous release is told of a job that it cannot do. Its wait is 24 days at most. */
const farAhead = sql`(clock_timestamp() + interval '20 days')`;
const dueAt = sql`coalesce(j.due_at, (j.position ->> 'ready_at')::timestamptz)`;

export async function insertBulkJob(db: Queryable, job: NewBulkJob): Promise<JobRow> {
  // The previous release knows no purge, and would re-arm events of all types.
  const isNew = sql`(${job.action === 'purge' || job.event_type !== null})::boolean`;
  const rows = await db.query<JobRow>(sql`
    insert into dead_letter_jobs as j (id, action, state, status, tenant, endpoint_id, failure_class, event_type,
      failed_from, failed_to, reach, rate, rows_total, due_at, position, created_by, look_at)
    values (${job.id}, ${job.action}, 'running', ${job.status}, ${job.tenant}, ${job.endpoint_id},
      ${job.failure_class}, ${job.event_type}, ${job.failed_from}, ${job.failed_to}, ${job.reach}, ${job.rate},
      ${job.rowsTotal}, case when ${isNew} then clock_timestamp() end,
      json_build_object('max_attempts', ${job.maxAttempts}::int, 'ready_at', case when ${isNew} then ${farAhead} end),
      ${job.createdBy}, clock_timestamp())
    returning ${columns}`);
  return onlyRow(rows);
}

/** Selects jobs whose makers could touch no other tenants than these; null means all. */
const isInReach = (reach: Reach) => sql`(${reach}::text[] is null or j.reach <@ ${reach}::text[])`;

export const bulkTable: PacedTable = {
  name: 'dead_letter_jobs',
  requestedAt: 'created_at',
  kind: raw('j.action'),
  isListed: sql`j.action in ('retry', 'purge')`,
  isInReach,
  columns,
  dueAt,
  ended: [],
};

/** Where the list of all jobs finds those of an action. */
export const listedBulk = (action: BulkAction): ListedTable => ({
  ...bulkTable,
  isListed: sql`j.action = ${action}`,
  state: raw('j.state'),
  requestedBy: raw('j.created_by'),
  error: raw('null'),
  startedAt: 'created_at',
  finishedAt: 'finished_at',
  done: raw('j.rows_done + j.rows_skipped'),
  total: raw('j.rows_total'),
  told: sql`json_build_object('status', j.status, 'endpoint_id', j.endpoint_id, 'event_type', ${toldType},
    'failure_class', j.failure_class, 'is_limited', j.reach is not null, 'skipped', j.rows_skipped,
    ${toldOutcome})`,
});

/** Lists bulk jobs, the newest first, beginning after `after`: all, or those of an action or for an endpoint alone. */
export async function listBulkJobs(
  db: Queryable,
  of: { reach: Reach; action?: BulkAction | undefined; endpointId?: string },
  page: { after: readonly string[] | null; limit: number },
): Promise<JobRow[]> {
  const { reach, action, endpointId } = of;
  const conditions: Sql[] = [];
  if (action !== undefined) conditions.push(sql`j.action = ${action}`);
  if (endpointId !== undefined) conditions.push(sql`j.endpoint_id = ${endpointId}`);
  return listJobRows<JobRow>(db, bulkTable, columns, { reach, conditions }, page);
}

/** Finds a bulk job; undefined when it is unknown or its maker could touch more tenants than the caller. */
export const findBulkJob = (db: Queryable, reach: Reach, id: string) =>
  findJobRow<JobRow>(db, bulkTable, columns, { id, reach });

/** Whether somebody of this name has asked for a purge within the last day. */
export async function hasPurgedToday(db: Queryable, name: string): Promise<boolean> {
  const rows = await db.query(sql`
    select from dead_letter_jobs
    where action = 'purge' and created_by = ${name} and created_at > now() - interval '1 day' limit 1`);
  return rows.length > 0;
}

/** Whether a delivery was abandoned so many days ago or before, by the clock of the database. */
export async function hasOldAbandoned(db: Queryable, days: number): Promise<boolean> {
  const rows = await db.query(sql`
    select from deliveries where status = 'abandoned' and last_attempt_at <= now() - make_interval(days => ${days})
    order by status, last_attempt_at limit 1`);
  return rows.length > 0;
}

/** How far a job has got: the status that it works on, and the last row of that status it looked at. */
type JobProgress = {
  max_attempts?: number;
  status?: DeadLetterStatus;
  after?: readonly [at: string, id: string] | null;
};

export type OpenJob = JobFilter &
  Pick<JobRow, 'id' | 'rate' | 'rows_done' | 'created_by'> & {
    action: BulkAction | 'discard' | 'discard_backlog';
    /** The end of its range, or when it was made: what fails or joins a backlog later is left alone. */
    failed_until: string;
    reach: Reach;
    position: JobProgress | null;
  };

/** See `lockReady`. */
export const lockReadyJob = (db: Queryable) =>
  lockReady<OpenJob>(
    db,
    bulkTable,
    sql`j.id, j.action, j.status, j.tenant, j.endpoint_id, j.failure_class, j.event_type,
      ${instantText('j.failed_from')} as failed_from,
      ${instantText('least(j.failed_to, j.snapshot_at)')} as failed_until, j.reach, j.rate, j.position,
      j.rows_done, j.created_by`,
  );

/** Which of these endpoints somebody has disabled since this bulk retry was made. */
export async function findClosedSince(
  db: Queryable,
  id: string,
  endpointIds: readonly string[],
): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(sql`
    select e.id from dead_letter_jobs j, webhook_endpoints e
    where j.id = ${id} and e.id = any(${endpointIds}::text[]) and ${isClosedSince}`);
  return new Set(rows.map((row) => row.id));
}

export type Batch = {
  progress: JobProgress;
  done: number;
  skipped: number;
  /** How many of those skipped can be retried once their endpoints are enabled again. */
  left?: number;
  isLast: boolean;
  /** Seconds until the job may go on, whatever its rate. */
  waitSeconds?: number;
  endpointIds: readonly string[];
};

/** Notes a batch of a job, and when it may go on, so that its rate holds over all processes together. */
export async function advanceJob(
  db: Queryable,
  id: string,
  batch: Omit<Batch, 'endpointIds'>,
): Promise<void> {
  const { max_attempts, status, after } = batch.progress;
  const state = batch.isLast ? sql`'completed'` : sql`j.state`;
  const finishedAt = batch.isLast ? sql`clock_timestamp()` : sql`null`;
  const dueNext = sql`greatest(${dueAt}, clock_timestamp()) + make_interval(secs =>
    coalesce(${batch.waitSeconds ?? null}::float8, ${batch.done}::float8 / j.rate))`;
  await db.query(sql`
    update dead_letter_jobs j set rows_done = j.rows_done + ${batch.done}::int,
      rows_skipped = j.rows_skipped + ${batch.skipped}::int, state = ${state}, finished_at = ${finishedAt},
      updated_at = clock_timestamp(),
      due_at = case when j.due_at is not null then coalesce(${dueNext}, j.due_at) end,
      position = json_build_object('max_attempts', ${max_attempts ?? null}::int,
        'left', coalesce((j.position ->> 'left')::int, 0) + ${batch.left ?? 0}::int,
        'status', ${status ?? null}::text, 'after', ${after == null ? null : JSON.stringify(after)}::json,
        'ready_at', case when j.due_at is null then ${dueNext} else ${farAhead} end)
    where j.id = ${id}`);
}

/** One group of what a bulk job would do. Each row also holds the totals over all groups. */
type PreviewRow = {
  endpoint_id: string;
  target: string;
  failure_class: FailureClass;
  count: number;
  is_open: boolean;
  total: number;
  total_skipped: number;
};

export async function listTenantsOf(db: Queryable, filter: CountFilter): Promise<string[]> {
  const rows = await db.query<{ tenant: string }>(sql`
    select distinct c.tenant from dead_letter_counts c ${where(countConditions(filter))} order by 1`);
  return rows.map(({ tenant }) => tenant);
}

/** Rows that a retry can re-arm, and those that a purge may take: not of tenants under legal hold. */
const isOpenTo = {
  retry: () => sql`(e.enabled and e.deleted_at is null and g.failure_class <> 'erased')`,
  purge: (held: readonly string[]) => sql`e.tenant <> all(${held}::text[])`,
};

/**
 * Counts exactly by endpoint and failure class, the largest group first and those that would be skipped last. A group of
 * which nothing failed outside the range is as large as its counter says; only of the others, and of a type, rows are
 * read. `held` are the tenants under legal hold.
 */
export async function previewGroups(
  db: Queryable,
  action: BulkAction,
  filter: CountFilter &
    Pick<JobFilter, 'event_type'> & { from: string | null; until: string | null },
  { held, limit }: { held: readonly string[]; limit: number },
): Promise<PreviewRow[]> {
  const { from, until, event_type: type } = filter;
  const member = sql`d.endpoint_id = c.endpoint_id and d.status = c.status and d.status in ('pending', 'abandoned')
    and d.failure_class = c.failure_class`;
  // Each is one look into an index. `exists` would be planned as a reading of the whole table.
  const end = (order: 'asc' | 'desc') =>
    sql`(select d.last_attempt_at from deliveries d where ${member} order by d.last_attempt_at ${raw(order)} limit 1)`;
  const isBeyond = [
    ...(type === null ? [] : [sql`true`]),
    ...(from === null ? [] : [sql`${end('asc')} < ${from}::timestamptz`]),
    ...(until === null ? [] : [sql`${end('desc')} > ${until}::timestamptz`]),
  ];
  const counted = sql`cross join lateral (
      select case when ${join([sql`false`, ...isBeyond], ' or ')} then (
        select count(*) from deliveries d where ${member}
          and d.last_attempt_at >= ${from ?? '-infinity'}::timestamptz
          and d.last_attempt_at <= ${until ?? 'infinity'}::timestamptz
          ${type === null ? empty : sql`and ${isOfType(sql`d.event_type`, type)}`}
      ) else c.count end as count
    ) counted`;
  const isOpen = isOpenTo[action](held);
  return db.query<PreviewRow>(sql`
    select g.endpoint_id, ${maskedUrl('e.url')} as target, g.failure_class, g.count,
      ${isOpen} as is_open,
      coalesce(sum(g.count) filter (where ${isOpen}) over (), 0)::bigint as total,
      coalesce(sum(g.count) filter (where not ${isOpen}) over (), 0)::bigint
        as total_skipped
    from (
      select c.endpoint_id, c.failure_class, sum(counted.count)::bigint as count
      from dead_letter_counts c ${counted} ${where(countConditions(filter))}
      group by c.endpoint_id, c.failure_class having sum(counted.count) > 0
    ) g
    join webhook_endpoints e on e.id = g.endpoint_id
    order by is_open desc, g.count desc, g.endpoint_id, g.failure_class limit ${limit}`);
}

/** Whether a type is the one that is meant, or, where that ends with a dot, begins so. */
function isOfType(type: Sql, meant: string): Sql {
  return meant.endsWith('.') ? sql`starts_with(${type}, ${meant})` : sql`${type} = ${meant}`;
}

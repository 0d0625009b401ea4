import sql, { join, raw, type Sql } from 'sql-template-tag';
import { type JobSource, listJobRows, selectJobs } from '../platform/jobs/listed-queries.ts';
import type { Queryable, Row } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { JobRow, WebhooksOverview } from './contract.ts';
import type { BulkAction, RetryState } from './values.ts';

/** Where jobs are stored that operators pause, pace and cancel. */
export type PacedTable = JobSource & {
  /** What each job is called where all that is under way is told. */
  readonly kind: Sql;
  /** The columns that callers see of a job. */
  readonly columns: Sql;
  /** When a job may go on by its rate; null: at once. */
  readonly dueAt: Sql;
  /** What any change ends, such as a wait. */
  readonly ended: readonly Sql[];
};

/** What is known of the rows of the job `j`, as callers see it, and for the list of all jobs. */
export const outcomeOfJob = sql`case when j.looked_at is not null then json_build_object('counts', j.outcome -> 'counts',
  'looked_at', ${instantText('j.looked_at')}, 'settled_at', ${instantText('j.settled_at')}) end`;
export const toldOutcome = sql`'rows_done', j.rows_done, 'outcome', ${outcomeOfJob}`;

export type PacedChange = { state?: RetryState; rate?: number | null };

/** Changes a job that has not ended; undefined when it has. It waits for a share that is under way. */
export async function changePaced<Job extends Row>(
  db: Queryable,
  { name, columns, ended }: PacedTable,
  id: string,
  { state, rate }: PacedChange,
): Promise<Job | undefined> {
  const sets = [sql`updated_at = now()`, ...ended];
  if (state !== undefined) sets.push(sql`state = ${state}`);
  if (rate !== undefined) sets.push(sql`rate = ${rate}`);
  if (state === 'cancelled') sets.push(sql`finished_at = now()`);
  const rows = await db.query<Job>(sql`
    update ${raw(name)} j set ${join(sets)} where j.id = ${id} and j.state in ('running', 'paused')
    returning ${columns}`);
  return rows[0];
}

type OpenJob = Pick<
  JobRow,
  'id' | 'state' | 'tenant' | 'rows_done' | 'rows_skipped' | 'rows_total'
> & { kind: BulkAction | 'replay' };

/** Lists jobs that have not ended, the oldest first, and how far they are. An index has only these. */
export async function listOpen(
  db: Queryable,
  table: PacedTable,
  reach: readonly string[] | null,
  limit: number,
): Promise<OpenJob[]> {
  const columns = sql`${table.kind} as kind, j.id, j.state, j.tenant, j.rows_done, j.rows_skipped, j.rows_total`;
  return db.query<OpenJob>(sql`
    ${selectJobs(table, columns, reach)} and j.state in ('running', 'paused')
    order by j.created_at, j.id limit ${limit}`);
}

/** The last job of a table, and what became of its rows; none where there is no job. */
export async function findLast(
  db: Queryable,
  table: PacedTable,
  reach: readonly string[] | null,
): Promise<NonNullable<WebhooksOverview['last_job']>[]> {
  const columns = sql`j.id, ${table.kind} as action, j.state, ${instantText('j.created_at')} as created_at, j.rows_done,
    ${outcomeOfJob} as outcome`;
  return listJobRows(db, table, columns, { reach }, { after: null, limit: 1 });
}

/**
 * Locks the running job that has waited longest and may go on, until the transaction ends. One of which another process
 * does a share is skipped.
 */
export async function lockReady<Job extends Row>(
  db: Queryable,
  { name, dueAt }: PacedTable,
  columns: Sql,
): Promise<Job | undefined> {
  const rows = await db.query<Job>(sql`
    select ${columns} from ${raw(name)} j
    where j.state = 'running' and coalesce(${dueAt} <= clock_timestamp(), true)
    order by j.updated_at, j.id limit 1 for update of j skip locked`);
  return rows[0];
}

/** Milliseconds until the first job may go on that waits; null when none does. */
export async function findPacedWait(
  db: Queryable,
  { name, dueAt }: PacedTable,
): Promise<number | null> {
  const rows = await db.query<{ millis: number | null }>(sql`
    select ceil(extract(epoch from min(${dueAt}) - clock_timestamp()) * 1000)::int as millis
    from ${raw(name)} j where j.state = 'running' and ${dueAt} > clock_timestamp()`);
  return rows[0]?.millis ?? null;
}

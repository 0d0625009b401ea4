import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { Queryable, Row } from '../platform/postgres/database.ts';
import type { RetryState } from './values.ts';

/** Where jobs are stored that operators pause, pace and cancel. In all statements the table is called `j`. */
export type PacedTable = {
  readonly name: 'dead_letter_jobs' | 'replays';
  /** The columns that callers see of a job. */
  readonly columns: Sql;
  /** When a job may go on by its rate; null: at once. */
  readonly dueAt: Sql;
  /** What any change ends, such as a wait. */
  readonly ended: readonly Sql[];
};

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

import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Page, toKeyset, toPage } from '../../kernel/page.ts';
import type { Queryable, Row } from '../postgres/database.ts';
import { findJob, type JobTable, listJobs } from './queries.ts';

/** One page of the jobs that concern only tenants in reach, the latest first. Throws 400 `cursor_invalid`. */
export async function readJobs<Shown extends Row & { id: string; requested_at: string }>(
  db: Queryable,
  table: JobTable,
  actor: Actor,
  request: { cursorKey: Buffer; limit?: number; cursor?: string },
): Promise<Page<Shown>> {
  const page = { ...request, scope: { list: table.list, filters: {} } };
  const rows = await listJobs<Shown>(db, table, actor.tenants, toKeyset(page));
  return toPage(page, rows, (row) => [row.requested_at, row.id]);
}

/** A job in reach. Throws the 404 of its kind. */
export async function readJob<Shown extends Row>(
  db: Queryable,
  table: JobTable,
  actor: Actor,
  id: string,
): Promise<Shown> {
  const job = await findJob<Shown>(db, table, { id, reach: actor.tenants });
  if (job !== undefined) return job;
  const { code, detail } = table.missing;
  throw new AppError(code, { detail });
}

import type { FastifyRequest } from 'fastify';
import { type Actor, assertReach } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { type Page, toKeyset, toPage } from '../../kernel/page.ts';
import type { Audit } from '../../platform/audit.ts';
import { findJob, listJobs } from '../../platform/jobs/queries.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { RunRow } from '../contract.ts';
import * as queries from './queries.ts';

export type RunRequest = { tenant?: string; before?: string; delete_versioned?: boolean };

/** Queues a run over the tenants that the caller reaches. Throws 400 `request_invalid` for a tenant out of reach. */
export async function requestRun(
  db: Database,
  act: { actor: Actor; request: FastifyRequest; audit: Audit },
  wanted: RunRequest,
): Promise<RunRow> {
  const { actor, request, audit } = act;
  const { tenant = null, before = null, delete_versioned: deleteVersioned = false } = wanted;
  if (tenant !== null) assertReach(actor, tenant);
  return db.transaction(async (connection) => {
    const run = await queries.insertRun(connection, {
      id: newId('run'),
      tenant,
      tenants: actor.tenants,
      before,
      deleteVersioned,
      requestedBy: actor.name,
    });
    if (run === undefined) throw new Error('a run vanished while it was written');
    await audit(connection, {
      actor,
      request,
      action: 'retention.run',
      target: run.id,
      tenant,
      after: { tenant, before, delete_versioned: deleteVersioned },
    });
    return run;
  });
}

/** One page of the runs that concern only tenants in reach, the latest first. Throws 400 `cursor_invalid`. */
export async function listRuns(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: { limit?: number; cursor?: string },
): Promise<Page<RunRow>> {
  const { limit, cursor } = request;
  const page = { cursorKey, scope: { list: 'retention.runs', filters: {} }, limit, cursor };
  const rows = await listJobs<RunRow>(db, queries.runs, actor.tenants, toKeyset(page));
  return toPage(page, rows, (row) => [row.requested_at, row.id]);
}

/** A run. Throws 404 `retention_run_not_found`. */
export async function getRun(db: Queryable, actor: Actor, id: string): Promise<RunRow> {
  const isId = /^\w{1,100}$/.test(id);
  const run = isId
    ? await findJob<RunRow>(db, queries.runs, { id, reach: actor.tenants })
    : undefined;
  if (run !== undefined) return run;
  throw new AppError('retention_run_not_found', {
    detail: 'There is no run of this id, or no longer. GET /retention/runs lists them.',
  });
}

import type { Static } from 'typebox';
import { type Actor, hasScope } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Page, toKeyset, toPage } from '../../kernel/page.ts';
import { toWorkState } from '../../kernel/values.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import type { WorkRow } from '../../platform/http/schemas.contract.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { ExportJob, exportJobsContract, Manifest } from '../jobs.contract.ts';
import { type StoredJob, toExportJob } from './job.ts';
import * as queries from './queries.ts';

/** One page of the jobs of tenants in reach, the latest first. Throws 400 `cursor_invalid`. */
export async function listJobs(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: Static<typeof exportJobsContract.listExports.query>,
): Promise<Page<ExportJob>> {
  const { tenant, state, schedule, limit, cursor } = request;
  const scope = { list: 'exports', filters: { tenant, state, schedule } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  const filter = { tenant, state, schedule, reach: actor.tenants };
  const jobs = await queries.listJobs(db, filter, keyset);
  const { data, next_cursor } = toPage(page, jobs, (job) => [job.created_at, job.id]);
  return { data: data.map(toExportJob), next_cursor };
}

/** The first jobs that are queued or running, for the overview. */
export async function listOpenExports(
  db: Queryable,
  tenants: readonly string[] | null,
): Promise<WorkRow[]> {
  const jobs = await queries.listOpenJobs(db, tenants, 5);
  return jobs.map((job) => ({
    kind: 'export',
    id: job.id,
    state: toWorkState(job.state),
    tenant: job.tenant,
    done: job.rows_done,
    total: job.rows_total,
  }));
}

/** A job. Throws 404 `export_not_found`. */
export async function getJob(db: Queryable, actor: Actor, id: string): Promise<StoredJob> {
  const isId = /^\w{1,100}$/.test(id);
  const job = isId ? await queries.findJob(db, id, actor.tenants) : undefined;
  if (job !== undefined) return job;
  throw new AppError('export_not_found', {
    detail:
      'There is no export with this id, or no longer. svcctl exports ls and GET /exports list them.',
  });
}

/** The manifest of a job. Throws 404 `export_not_found`, 409 `export_unfinished`, `export_without_file`. */
export async function getManifest(db: Queryable, actor: Actor, id: string): Promise<Manifest> {
  return manifestOf(await getJob(db, actor, id));
}

/** The manifest, also of a file that is removed. Throws 409 `export_unfinished`, `export_without_file`. */
export function manifestOf(job: StoredJob): Manifest {
  const { manifest, finished_at } = job;
  const wasCompleted = job.state === 'completed' || job.state === 'erased';
  if (wasCompleted && manifest !== null && finished_at !== null) {
    return { ...manifest, finished_at };
  }
  if (job.state === 'queued' || job.state === 'running' || job.state === 'waiting') {
    throw new AppError('export_unfinished', {
      detail: `The export is ${job.state}. GET /exports/${job.id} tells how far it is.`,
      retryAfterSeconds: 5,
    });
  }
  throw new AppError('export_without_file', {
    detail: `The export ${job.state === 'cancelled' ? 'was cancelled.' : `failed: ${job.error ?? 'it is not known why.'}`} Start it again if you need the file.`,
  });
}

type CancelCall = Act & {
  readonly id: string;
  /** Leaves a completed job as it is. */
  readonly keepsFile?: true;
};

/**
 * Cancels a job that is queued or running, or removes the file of a completed one; otherwise nothing happens. Whoever
 * works on the job sees that at its next look, and the next sweep removes the objects of the job. Throws 404
 * `export_not_found`, and 403 `scope_missing` unless the actor asked for the job or is an admin.
 */
export async function cancelJob(
  db: Database,
  { id, keepsFile, ...act }: CancelCall,
): Promise<StoredJob> {
  const { actor } = act;
  const found = await getJob(db, actor, id);
  if (!hasScope(actor, 'admin') && found.token_id !== actor.tokenId) {
    throw new AppError('scope_missing', {
      detail: `This export was asked for by ${found.requested_by}. Only the token that asked for an export, or one with the scope admin, may cancel or remove it.`,
    });
  }
  return db.transaction(async (connection) => {
    const entry = (job: StoredJob, action: string, before: object) =>
      noteAct(connection, act, {
        action,
        target: job.id,
        tenant: job.tenant,
        before,
        after: { state: job.state, has_file: job.has_file },
      });
    const cancelled = await queries.cancelOpenJob(connection, found);
    if (cancelled !== undefined) {
      await entry(cancelled, 'export.cancel', { state: found.state, rows_done: found.rows_done });
      return cancelled;
    }
    // The job may have ended since it was looked up.
    const expired = keepsFile ? undefined : await queries.expireJob(connection, found);
    if (expired !== undefined) {
      await entry(expired, 'export.remove', { state: expired.state, has_file: true });
      return expired;
    }
    return getJob(connection, actor, id);
  });
}

/** Exports in the list of all jobs. */
export function listExportsAsJobs(
  db: Database,
  audit: Audit,
): ListedKind<{ file_name: string; is_erased: boolean }> {
  return {
    kind: 'export',
    scope: 'analytics:read',
    unit: 'records',
    path: '/exports',
    table: queries.listedExports,
    summary({ tenant, told }) {
      const gone = told.is_erased ? ', which was removed with its records' : '';
      return `Exports records of ${tenant} to ${told.file_name}${gone}.`;
    },
    async cancel(call) {
      await cancelJob(db, { ...call, audit, keepsFile: true });
    },
  };
}

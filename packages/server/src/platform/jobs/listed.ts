import type { FastifyRequest } from 'fastify';
import { type Actor, hasScope } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { type Page, toKeyset, toPage } from '../../kernel/page.ts';
import { basePath, type Scope } from '../../kernel/values.ts';
import type { HttpServer } from '../http/server.ts';
import type { Database, Queryable } from '../postgres/database.ts';
import { jobsContract, type ListedJob } from './contract.ts';
import { findOfKind, type ListedRow, type ListedTable, listOfKind } from './listed-queries.ts';
import type { JobKindName, JobState, JobUnit } from './values.ts';

/** Whoever cancels a job. */
export type CancelCall = {
  readonly id: string;
  readonly actor: Actor;
  readonly request: FastifyRequest;
};

/** What a feature tells of its jobs for the one list of all of them. `Told` is what its summary needs. */
export type ListedKind<Told extends object = object> = {
  readonly kind: JobKindName;
  /** Who may read its jobs, as by its own routes. */
  readonly scope: Scope;
  readonly table: ListedTable;
  /** What its progress counts; null when it tells none. */
  readonly unit: JobUnit | null;
  /** The path of its own list, below which are its jobs. */
  readonly path: string;
  /** What the job does, in one sentence. */
  summary(job: ListedRow<Told>): string;
  /** Whether something went wrong that does not make the job fail. Without it nothing can. */
  hasFaults?(told: Told): boolean;
  /** Cancels a job unless it has ended. Throws 403 `scope_missing`. A kind without it cannot be cancelled. */
  cancel?(call: CancelCall): Promise<unknown>;
};

type JobsOptions = { readonly kinds: readonly ListedKind[]; cursorKey(): Buffer };

/** Adds the routes of the one list of all jobs. */
export function addJobRoutes(http: HttpServer, db: Database, options: JobsOptions): void {
  const kindsOf = (actor: Actor) => options.kinds.filter(({ scope }) => hasScope(actor, scope));
  http.route(jobsContract.listJobs, ({ query, actor }) =>
    listJobs(db, { kinds: kindsOf(actor), cursorKey: options.cursorKey(), actor }, query),
  );
  http.route(jobsContract.getJob, async ({ params, actor }) => {
    const { kind, row } = await findJob(db, kindsOf(actor), { id: params.id, actor });
    return toListedJob(kind, row);
  });
  http.route(jobsContract.cancelJob, ({ params, actor, request }) =>
    cancelJob(db, kindsOf(actor), { id: params.id, actor, request }),
  );
}

type ListRequest = {
  kind?: JobKindName;
  state?: JobState;
  tenant?: string;
  limit?: number;
  cursor?: string;
};

/** One page of the jobs of these kinds that are in reach, the latest first. Throws 400 `cursor_invalid`. */
async function listJobs(
  db: Queryable,
  { kinds, cursorKey, actor }: { kinds: readonly ListedKind[]; cursorKey: Buffer; actor: Actor },
  { kind: only, state, tenant, limit, cursor }: ListRequest,
): Promise<Page<ListedJob>> {
  const scope = { list: 'jobs', filters: { kind: only, state, tenant } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  const filter = { reach: actor.tenants, tenant, state };
  const jobs: ListedJob[] = [];
  // A statement for each kind, one after the other: each goes along the index of its table, wherever that lies in a
  // cluster, and a page takes no more than one connection.
  for (const kind of kinds) {
    if (only !== undefined && kind.kind !== only) continue;
    const rows = await listOfKind(db, kind.table, filter, keyset);
    jobs.push(...rows.map((row) => toListedJob(kind, row)));
  }
  const keyOf = (job: ListedJob) => [job.requested_at, job.id];
  return toPage(page, jobs.sort(latestFirst), keyOf);
}

/** Times are text of one length, and ids are ASCII: both are in order as the database has them. */
function latestFirst(a: ListedJob, b: ListedJob): number {
  if (a.requested_at !== b.requested_at) return a.requested_at < b.requested_at ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}

/** A job of these kinds. Throws 404 `job_not_found`. */
async function findJob(
  db: Queryable,
  kinds: readonly ListedKind[],
  { id, actor }: { id: string; actor: Actor },
): Promise<{ kind: ListedKind; row: ListedRow }> {
  for (const kind of kinds) {
    const row = await findOfKind(db, kind.table, { id, reach: actor.tenants });
    if (row !== undefined) return { kind, row };
  }
  throw new AppError('job_not_found', {
    detail: 'There is no job with this id, or no longer. GET /jobs lists them.',
  });
}

/**
 * Cancels a job, once. Throws 404 `job_not_found`, 409 `job_not_cancellable`, `job_finished`, and what its kind throws.
 */
async function cancelJob(
  db: Database,
  kinds: readonly ListedKind[],
  call: CancelCall,
): Promise<ListedJob> {
  const { kind } = await findJob(db, kinds, call);
  if (kind.cancel === undefined) {
    throw new AppError('job_not_cancellable', {
      detail:
        'Only exports, counts, imports, bulk re-arms, bulk purges and replays can be cancelled. This job goes on to its end.',
    });
  }
  await kind.cancel(call);
  const after = await findJob(db, [kind], call);
  if (after.row.state === 'cancelled') return toListedJob(kind, after.row);
  throw new AppError('job_finished', { detail: `The job is ${after.row.state} already.` });
}

function toListedJob(kind: ListedKind, row: ListedRow): ListedJob {
  const { done, total, told, ...shown } = row;
  return {
    ...shown,
    kind: kind.kind,
    progress: kind.unit === null || done === null ? null : { done, total, unit: kind.unit },
    summary: kind.summary(row),
    has_faults: kind.hasFaults?.(told) ?? false,
    href: `${basePath}${kind.path}/${row.id}`,
  };
}

/** Whose data a job is about: "of TX", "of all tenants", or of those that whoever asked reaches. */
export function ofTenants(tenant: string | null, isLimited: boolean): string {
  if (tenant !== null) return `of ${tenant}`;
  return isLimited ? 'of the tenants of its token' : 'of all tenants';
}

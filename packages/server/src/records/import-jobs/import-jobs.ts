import { createHash } from 'node:crypto';
import { type Actor, hasScope } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { formatCount, numberOf } from '../../kernel/values.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { ListedKind } from '../../platform/jobs/listed.ts';
import type { Connection, Database, Queryable } from '../../platform/postgres/database.ts';
import {
  type ImportJob,
  type ImportReport,
  type ImportStart,
  importJobContract,
} from '../import-job.contract.ts';
import * as queries from './queries.ts';

/** Adds the routes by which a command drives an import of its files. */
export function addImportJobRoutes(http: HttpServer, db: Database): void {
  http.route(importJobContract.startImport, ({ body, actor }) => startImport(db, actor, body));
  http.route(importJobContract.getImport, async ({ params, actor }) =>
    toImportJob(await findImport(db, actor, params.id)),
  );
  http.route(importJobContract.reportImport, ({ params, body, actor }) =>
    reportImport(db, actor, params.id, body),
  );
}

async function startImport(db: Database, actor: Actor, asked: ImportStart): Promise<ImportJob> {
  const { tenants, name: requestedBy, tokenId } = actor;
  await queries.pruneImports(db);
  // What a token does not reach it is refused, so one that reaches other tenants does not import the same.
  const reached = JSON.stringify([asked.digest, tenants && [...tenants].sort()]);
  const digest = createHash('sha256').update(reached).digest('hex');
  const job = { ...asked, digest, tenants, requestedBy, tokenId, id: newId('imp') };
  return toImportJob(await queries.startImport(db, job));
}

/** Takes what a command tells. Throws 404 `job_not_found`, and 400 `request_invalid` for what cannot be. */
async function reportImport(
  db: Database,
  actor: Actor,
  id: string,
  report: ImportReport,
): Promise<ImportJob> {
  const { files } = await findImport(db, actor, id);
  if (report.at_file > files) throw invalidInput('/at_file', `is beyond its ${files} files`);
  if (report.state === 'completed' && report.at_file < files) {
    throw invalidInput('/state', 'it is completed behind its last file: at_file must be `files`');
  }
  if (report.conflicts > report.rejected) {
    throw invalidInput('/conflicts', 'are rejected as well, so they cannot be more');
  }
  if (report.taken + report.rejected > report.rows) {
    throw invalidInput('/taken', 'with those that were rejected they are more than `rows`');
  }
  return db.transaction(async (connection) => {
    await queries.noteHeard(connection, id, report.stopped ?? null);
    await queries.noteReached(connection, id, report);
    return toImportJob(await findImport(connection, actor, id));
  });
}

async function findImport(db: Queryable, actor: Actor, id: string): Promise<queries.StoredImport> {
  const isId = /^\w{1,100}$/.test(id);
  const job = isId ? await queries.findImport(db, id, actor.tenants) : undefined;
  if (job !== undefined) return job;
  throw new AppError('job_not_found', {
    detail: 'There is no import with this id, or no longer. GET /jobs?kind=import lists them.',
  });
}

/** Throws 404 `job_not_found`, and 409 `job_finished`, unless records may be stored for this import. */
export async function assertOpen(db: Queryable, actor: Actor, id: string): Promise<void> {
  if ((await findImport(db, actor, id)).finished_at !== null) throw hasEnded(id);
}

/** Counts records for an import in the transaction that stores them. Throws 409 `job_finished`: it has ended. */
export async function countStored(
  connection: Connection,
  id: string,
  count: number,
): Promise<void> {
  if (!(await queries.addStored(connection, id, { count }))) throw hasEnded(id);
}

function hasEnded(id: string): AppError {
  return new AppError('job_finished', {
    detail: `The import ${id} has ended, so nothing more is stored for it. What it has stored stays.`,
  });
}

/** Cancels an import that has not ended. Throws 403 `scope_missing` unless the actor began it or is an admin. */
async function cancelImport(db: Database, act: Act, id: string): Promise<void> {
  const { actor } = act;
  const before = await findImport(db, actor, id);
  if (!hasScope(actor, 'admin') && before.token_id !== actor.tokenId) {
    throw new AppError('scope_missing', {
      detail: `This import was begun by ${before.requested_by}. Only the token that began it, or one with the scope admin, may cancel it.`,
    });
  }
  await db.transaction(async (connection) => {
    if (!(await queries.cancelImport(connection, id))) return;
    await noteAct(connection, act, {
      action: 'import.cancel',
      target: id,
      tenant: before.tenant,
      before: { state: before.state },
      after: { state: 'cancelled' },
    });
  });
}

function toImportJob({ tenant: _tenant, token_id: _token, ...job }: queries.StoredImport) {
  return job;
}

type Told = Pick<
  ImportJob,
  | 'files'
  | 'at_file'
  | 'sent'
  | 'rejected'
  | 'conflicts'
  | 'stored'
  | 'cold'
  | 'cold_days'
  | 'known'
>;

/** Imports in the list of all jobs. */
export function listImportsAsJobs(db: Database, audit: Audit): ListedKind<Told> {
  return {
    kind: 'import',
    scope: 'enrichment:read',
    unit: 'records',
    path: '/enrichment/imports/jobs',
    table: queries.listedImports,
    summary({ told: { files, at_file: done, stored, cold, cold_days: days, ...told } }) {
      const { sent, rejected, conflicts, known } = told;
      const of = done < files ? `, of which ${formatCount(done)} are done` : '';
      const atOnce =
        cold === 0 ? '' : `, ${formatCount(cold)} of them on ${numberOf(days, 'day')} cold at once`;
      const before = known === null ? '' : `, ${formatCount(known)} known`;
      const other = conflicts === 0 ? '' : `, ${formatCount(conflicts)} of them in conflict`;
      return `Imports ${numberOf(files, 'file')}${of}: ${numberOf(stored + cold, 'new record')}${atOnce}${before}; ${numberOf(sent, 'row')} through ingest, ${formatCount(rejected)} rejected${other}.`;
    },
    hasFaults: ({ rejected }) => rejected > 0,
    cancel: ({ id, ...caller }) => cancelImport(db, { ...caller, audit }, id),
  };
}

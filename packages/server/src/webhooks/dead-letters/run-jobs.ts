import type { AuditLocally } from '../../platform/audit.ts';
import type { Log } from '../../platform/log.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { Pace } from '../../platform/work/pace.ts';
import type { Repeated, ShareDone } from '../../platform/work/repeat.ts';
import { doPacedShare, shareRows, startPaced } from '../paced-jobs.ts';
import { findTenantOfEndpoint } from '../queries.ts';
import type { WakeUp } from '../wake-up.ts';
import * as queries from './job-queries.ts';
import { type IsOnHold, purgeRows } from './purge-rows.ts';
import {
  discardOfEndpoint,
  discardThenEnable,
  findOpenEndpoints,
  hasLiveRows,
  rearmAll,
  tryLockEndpoint,
} from './queries.ts';
import { type RowWork, walkRows } from './walk-rows.ts';

type Batch = queries.Batch;
type OpenJob = queries.OpenJob;

/** A kind of bulk job: what a batch of it does, in the transaction that also stores how far the job is. */
type BulkKind = {
  readonly doBatch: (db: Queryable, job: OpenJob) => Promise<Batch>;
  /** The audit entry of its end. When the job was asked for, nobody could know how many deliveries it would be. */
  readonly endAction?: string;
};

function kindOf(action: OpenJob['action'], isOnHold: IsOnHold): BulkKind {
  const kinds: Readonly<Record<OpenJob['action'], BulkKind>> = {
    retry: { doBatch: (db, job) => walkRows(db, job, rearmRows) },
    purge: {
      doBatch: (db, job) => walkRows(db, job, purgeRows(isOnHold)),
      endAction: 'purge_job.end',
    },
    discard: { doBatch: discardRows, endAction: 'endpoint.delete' },
    discard_backlog: { doBatch: discardBacklogRows, endAction: 'endpoint.discard_backlog' },
  };
  return kinds[action];
}

type Parts = { wakeUp: WakeUp; audit: AuditLocally; isOnHold: IsOnHold };

/** Works on the bulk jobs until it is stopped: see `startPaced`. */
export function startBulkJobs(
  db: Database,
  { log, pace, ...parts }: Parts & { log: Log; pace: Pace },
): Repeated {
  return startPaced(() => runBatch(db, parts), { title: 'batch of a bulk job', log, pace });
}

export function runBatch(db: Database, { wakeUp, audit, isOnHold }: Parts): Promise<ShareDone> {
  return doPacedShare(db, { table: queries.bulkTable, wakeUp }, async (connection) => {
    const job = await queries.lockReadyJob(connection);
    if (job === undefined) return null;
    const { doBatch, endAction } = kindOf(job.action, isOnHold);
    const done = await doBatch(connection, job);
    await queries.advanceJob(connection, job.id, done);
    if (done.isLast && endAction !== undefined) {
      await auditEnd(connection, audit, { job, done, action: endAction });
    }
    return done.endpointIds;
  });
}

/** A retry in bulk: rows are queued again, unless their endpoints are disabled or deleted, or their payloads erased. */
const rearmRows: RowWork = {
  wakes: true,
  async doRows(db, rows, job) {
    const endpointIds = [...new Set(rows.map((row) => row.endpoint_id))];
    const endpoints = await findOpenEndpoints(db, endpointIds, {
      defaultBudget: job.position?.max_attempts ?? 1,
      since: job.failed_until,
    });
    const rearmable = rows.flatMap(({ lane, id, endpoint_id, failure_class }) => {
      const endpoint = endpoints.get(endpoint_id);
      if (endpoint === undefined || failure_class === 'erased') return [];
      const isProbe = endpoint.needs_probe;
      // An operator's retry passes a pause. One row of many is enough: if it succeeds, the pause ends.
      endpoint.needs_probe = false;
      return [{ lane, id, budget: endpoint.budget, isProbe }];
    });
    return rearmAll(db, rearmable, { failedUntil: job.failed_until, jobId: job.id });
  },
  /** Those whose endpoint was disabled since the job was made. */
  async countLeft(db, rows, job) {
    const ids = [...new Set(rows.map((row) => row.endpoint_id))];
    const closed = await queries.findClosedSince(db, job.id, ids);
    return rows.filter((row) => closed.has(row.endpoint_id)).length;
  },
};

/** Writes how many deliveries a job has discarded in the end. */
async function auditEnd(
  db: Queryable,
  audit: AuditLocally,
  { job, done, action }: { job: OpenJob; done: Batch; action: string },
): Promise<void> {
  const { endpoint_id: endpoint } = job;
  const tenant =
    job.tenant ?? (endpoint === null ? undefined : await findTenantOfEndpoint(db, endpoint));
  await audit(db, 'svcctl', {
    // A purge has an entry of its own for its beginning, with the same target.
    action,
    target: job.action === 'purge' ? job.id : (endpoint ?? ''),
    ...(tenant === undefined ? {} : { tenant }),
    after: { job: job.id, asked_by: job.created_by, discarded: job.rows_done + done.done },
  });
}

/** Does a batch of a job that discards a backlog, unless somebody has the endpoint locked, who waits for this row. */
async function discardBacklogRows(db: Queryable, job: OpenJob): Promise<Batch> {
  const endpointId = job.endpoint_id ?? '';
  const locked = await tryLockEndpoint(db, endpointId);
  if (!locked?.is_disabled) {
    return { progress: {}, done: 0, skipped: 0, isLast: locked !== undefined, endpointIds: [] };
  }
  const { discarded, isEnabled } = await discardThenEnable(db, endpointId, {
    limit: shareRows,
    until: job.failed_until,
  });
  const endpointIds = isEnabled ? [endpointId] : [];
  return { progress: {}, done: discarded, skipped: 0, isLast: isEnabled, endpointIds };
}

async function discardRows(db: Queryable, job: OpenJob): Promise<Batch> {
  const endpointId = job.endpoint_id ?? '';
  const done = await discardOfEndpoint(db, endpointId, shareRows);
  // None was found, yet some may exist: their status can change while the statement waits for their locks.
  const isLast = done === 0 && !(await hasLiveRows(db, endpointId));
  return { progress: job.position ?? {}, done, skipped: 0, isLast, endpointIds: [] };
}

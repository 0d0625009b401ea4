import type { AuditLocally } from '../../platform/audit.ts';
import type { Log } from '../../platform/log.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { Pace } from '../../platform/work/pace.ts';
import { type Repeated, repeat, rest } from '../../platform/work/repeat.ts';
import { findTenantOfEndpoint } from '../queries.ts';
import { findReach } from '../reach.ts';
import { deadLetterStatuses } from '../values.ts';
import type { WakeUp } from '../wake-up.ts';
import * as queries from './job-queries.ts';
import {
  discardOfEndpoint,
  discardThenEnable,
  findOpenEndpoints,
  hasLiveRows,
  rearmAll,
  tryLockEndpoint,
} from './queries.ts';
import { type KeyRow, listKeys } from './read-queries.ts';
import { laneOrNotFound } from './retry.ts';

/** How often jobs are looked for without a poke, since a process that was killed leaves its jobs behind. */
const lookMillis = 2000;

/**
 * Works on the bulk jobs. Every process of the role api does so, but each job is worked on by one process at a time.
 * Poke it when this process has made or changed a job. A stop waits for the batch that is under way.
 */
export function startBulkJobs(
  db: Database,
  { log, pace, ...parts }: { wakeUp: WakeUp; audit: AuditLocally; log: Log; pace: Pace },
): Repeated {
  const workOff = async (signal: AbortSignal) => {
    const giveWay = pace.begin();
    while (!signal.aborted) {
      const startedAt = performance.now();
      const { hasWorked, waitMillis } = await runBatch(db, parts);
      if (!hasWorked) return waitMillis ?? undefined;
      // It rests as long as it worked, since deliveries are no requests that anybody could see waiting.
      await rest(performance.now() - startedAt, signal);
      await giveWay(signal);
    }
    return undefined;
  };
  return repeat(workOff, {
    everyMillis: lookMillis,
    onError: (err) => log.warn({ err }, 'a batch of a bulk job failed and is tried again'),
  });
}

/** The most rows that one batch changes. 500 rows kept their counters locked for 50 ms on two busy cores. */
const batchRows = 250;
/** The most rows that one batch looks at for a failure class. */
const scanRows = 4000;
/** A job with a rate does this many batches a second, or batches of one row if the rate is lower. */
const stepsPerSecond = 4;

type Batch = Parameters<typeof queries.advanceJob>[2] & { endpointIds: readonly string[] };

/**
 * Does one batch of one job. The rows and the progress of the job commit together, so a process that dies at any point
 * loses nothing and does nothing twice. `waitMillis` says how long to wait when nothing can be done now; null means
 * that no job is known to become ready.
 */
export async function runBatch(
  db: Database,
  { wakeUp, audit }: { wakeUp: WakeUp; audit: AuditLocally },
): Promise<{ hasWorked: boolean; waitMillis: number | null }> {
  const batch = await db.transaction(async (connection) => {
    const job = await queries.lockReadyJob(connection);
    if (job === undefined) return null;
    const done = await workOn[job.action](connection, job);
    await queries.advanceJob(connection, job.id, done);
    if (done.isLast && job.action !== 'retry') await auditEnd(connection, audit, { job, done });
    return done;
  });
  if (batch === null) return { hasWorked: false, waitMillis: await queries.findWaitMillis(db) };
  if (batch.endpointIds.length > 0) wakeUp.wake(batch.endpointIds);
  return { hasWorked: true, waitMillis: null };
}

/** Writes how many deliveries a job has discarded in the end: when it was asked for, nobody could know. */
async function auditEnd(
  db: Queryable,
  audit: AuditLocally,
  { job, done }: { job: queries.OpenJob; done: Batch },
): Promise<void> {
  const target = job.endpoint_id ?? '';
  const tenant = await findTenantOfEndpoint(db, target);
  await audit(db, 'svcctl', {
    action: job.action === 'discard' ? 'endpoint.delete' : 'endpoint.discard_backlog',
    target,
    ...(tenant === undefined ? {} : { tenant }),
    after: { job: job.id, asked_by: job.created_by, discarded: job.rows_done + done.done },
  });
}

const workOn = { retry: rearmRows, discard: discardRows, discard_backlog: discardBacklogRows };

/**
 * Does a batch of a job that discards a backlog, as it was when the job was made. The endpoint is skipped while another
 * transaction has it locked, because whoever enables or disables it waits for this job's row. If the endpoint is
 * enabled, nothing is discarded and the job ends.
 */
async function discardBacklogRows(db: Queryable, job: queries.OpenJob): Promise<Batch> {
  const endpointId = job.endpoint_id ?? '';
  const locked = await tryLockEndpoint(db, endpointId);
  if (!locked?.is_disabled) {
    return { progress: {}, done: 0, skipped: 0, isLast: locked !== undefined, endpointIds: [] };
  }
  const { discarded, isEnabled } = await discardThenEnable(db, endpointId, {
    limit: batchRows,
    until: job.failed_until,
  });
  const endpointIds = isEnabled ? [endpointId] : [];
  return { progress: {}, done: discarded, skipped: 0, isLast: isEnabled, endpointIds };
}

async function discardRows(db: Queryable, job: queries.OpenJob): Promise<Batch> {
  const endpointId = job.endpoint_id ?? '';
  const done = await discardOfEndpoint(db, endpointId, batchRows);
  // None was found, yet some may exist: their status can change while the statement waits for their locks.
  const isLast = done === 0 && !(await hasLiveRows(db, endpointId));
  return { progress: job.position ?? {}, done, skipped: 0, isLast, endpointIds: [] };
}

/**
 * Does a batch of a bulk retry. It goes through the rows by status and last failure, and remembers the last row it
 * looked at, so that rows that cannot be retried are not met again.
 */
async function rearmRows(db: Queryable, job: queries.OpenJob): Promise<Batch> {
  const statuses = job.status === null ? deadLetterStatuses : [job.status];
  const { status = statuses[0], after = null, max_attempts = 1 } = job.position ?? {};
  const reach = await findReach(db, { tenants: job.reach }, job);
  if (status === undefined || reach === null) {
    return { progress: { max_attempts }, done: 0, skipped: 0, isLast: true, endpointIds: [] };
  }
  const limit = job.rate === null ? batchRows : paced(job.rate);
  const lookLimit = job.failure_class === null ? limit : scanRows;
  const range = { failedFrom: job.failed_from, failedUntil: job.failed_until };
  const looked = await listKeys(
    db,
    { orderedBy: 'last_attempt_at', status, ...reach, ...range },
    { after, descending: false, limit: lookLimit, scanLimit: null },
  );
  const { failure_class } = job;
  const sought = looked.filter((row) => [null, row.failure_class].includes(failure_class));
  const picked = sought.slice(0, limit);
  const armed = await rearmPicked(db, picked, {
    maxAttempts: max_attempts,
    until: job.failed_until,
  });
  const done = armed.reduce((sum, row) => sum + row.count, 0);
  const left = done < picked.length ? await countLeft(db, job, picked) : 0;
  // It stays where it is until the endpoint is enabled: else all that is left would be skipped within seconds. A job of
  // several endpoints goes on with the others, and tells at its end how much is left.
  if (done === 0 && left > 0 && job.endpoint_id !== null) {
    const progress = job.position ?? {};
    return { progress, done, skipped: 0, isLast: false, endpointIds: [], waitSeconds: 2 };
  }
  const isCut = picked.length < sought.length;
  const isStatusDone = !isCut && looked.length < lookLimit;
  const last = (isCut ? picked : looked).at(-1);
  const nextStatus = statuses[statuses.indexOf(status) + 1];
  return {
    progress: isStatusDone
      ? { max_attempts, ...(nextStatus === undefined ? {} : { status: nextStatus }) }
      : { max_attempts, status, after: last === undefined ? after : [last.at, last.id] },
    done,
    skipped: picked.length - done,
    left,
    isLast: isStatusDone && nextStatus === undefined,
    endpointIds: armed.map((row) => row.endpoint_id),
  };
}

/** How many of the picked rows have an endpoint that was disabled since the job was made. */
async function countLeft(
  db: Queryable,
  job: queries.OpenJob,
  picked: readonly KeyRow[],
): Promise<number> {
  const ids = [...new Set(picked.map((row) => row.endpoint_id))];
  const closed = await queries.findClosedSince(db, job.id, ids);
  return picked.filter((row) => closed.has(row.endpoint_id)).length;
}

/** Queues the picked rows again, apart from those whose endpoints are disabled or deleted, or whose payloads erased. */
async function rearmPicked(
  db: Queryable,
  picked: readonly KeyRow[],
  options: { maxAttempts: number; until: string },
) {
  const endpointIds = [...new Set(picked.map((row) => row.endpoint_id))];
  const endpoints = await findOpenEndpoints(db, endpointIds, {
    defaultBudget: options.maxAttempts,
    since: options.until,
  });
  const rows = picked.flatMap(({ id, endpoint_id, failure_class }) => {
    const endpoint = endpoints.get(endpoint_id);
    if (endpoint === undefined || failure_class === 'erased') return [];
    const isProbe = endpoint.needs_probe;
    // An operator's retry passes a pause. One row of many is enough: if it succeeds, the pause ends.
    endpoint.needs_probe = false;
    return [{ lane: laneOrNotFound(id), id, budget: endpoint.budget, isProbe }];
  });
  return rearmAll(db, rows, options.until);
}

function paced(rate: number): number {
  return Math.min(batchRows, Math.max(1, Math.floor(rate / stepsPerSecond)));
}

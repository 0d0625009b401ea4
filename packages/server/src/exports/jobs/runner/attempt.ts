import { newId } from '../../../kernel/ids.ts';
import { mayPass } from '../../../platform/objects/s3-errors.ts';
import { longestWaitMillis, pauseMillis } from '../../../platform/objects/store-wait.ts';
import type { Database, Session } from '../../../platform/postgres/database.ts';
import { tryLock } from '../../../platform/postgres/locks.ts';
import { endSession, lossOf } from '../../../platform/work/session-lock.ts';
import type { StoredJob } from '../job.ts';
import { JobLost, toFault, type WorkContext, watchJob } from './context.ts';
import { createProgressCounts, doJob } from './do-job.ts';
import * as queries from './queries.ts';
import { failJob, findFailures, postponeJob, releaseJob } from './queries.ts';

/** After this many failed attempts in a row, none of which finished a part, the job fails. */
const mostFailures = 5;

/**
 * Works on a job until it ends or cannot go on, and stores which of these happened. It ends itself soon after the
 * signal is aborted, by `JobLost` or because the process stops, and when the session is lost.
 */
export async function attemptJob(
  context: WorkContext,
  { job, session }: TakenJob,
  signal: AbortSignal,
): Promise<void> {
  const { db, log } = context;
  const losing = new AbortController();
  const lost = lossOf(session, 'The lock on the export was lost with its connection.');
  const ending = AbortSignal.any([signal, losing.signal, lost]);
  const counts = createProgressCounts();
  const watch = watchJob(db, job, {
    progress: () => counts.now(),
    onLost: (reason) => losing.abort(reason),
  });
  try {
    await doJob(context, { job, signal: ending, counts });
    log.info({ exportId: job.id, attempts: job.attempts }, 'export completed');
  } catch (error) {
    // Whatever was cut off fails with an error of its own; the reason of the abort is what counts.
    const reason: unknown = ending.aborted ? ending.reason : error;
    await watch.stop();
    if (reason instanceof JobLost) log.info({ exportId: job.id }, 'export ended from elsewhere');
    // Nothing is wrong with the job when the process stops.
    else if (signal.aborted) await releaseJob(db, job);
    else await writeDown(context, job, reason);
  } finally {
    await watch.stop();
    await endSession(session);
  }
}

/**
 * Stores why an attempt ended. A fault that may pass leads to another attempt, after a pause; while the store does not
 * answer, the job waits for it.
 */
async function writeDown(
  context: WorkContext,
  job: TakenJob['job'],
  error: unknown,
): Promise<void> {
  const { db, log, source, backoffSeconds = usualBackoff } = context;
  const fault = toFault(error, source.spoolDir);
  log.warn({ err: error, exportId: job.id, attempts: job.attempts }, 'an export could not go on');
  const before = await findFailures(db, job);
  const failures = 1 + before.failures;
  const waited = before.waited * 1000;
  const isWaiting = mayPass(error);
  if (isWaiting && waited < longestWaitMillis) {
    await postponeJob(db, job, { ...fault, isWaiting, seconds: pauseMillis(waited) / 1000 });
  } else if (!isWaiting && fault.isPassing && failures < mostFailures) {
    await postponeJob(db, job, { ...fault, isWaiting, seconds: backoffSeconds(failures) });
  } else {
    const often = isWaiting
      ? ' It has waited for an hour.'
      : fault.isPassing
        ? ` It was tried ${failures} times.`
        : '';
    await failJob(db, job, { code: fault.code, text: `${fault.text}${often}` });
  }
}

/** The pause after so many failures: 5 s, 10 s, 20 s, 40 s. Together that is longer than a database takes to come back. */
function usualBackoff(failures: number): number {
  return 5 * 2 ** (failures - 1);
}

/** A job that this process works on, for as long as the session lives. */
type TakenJob = {
  readonly job: StoredJob & { readonly runner: string };
  readonly session: Session;
};

/**
 * Takes the next job that is queued or was left behind; undefined when there is none. The lock on the job belongs to a
 * session, so it ends with the process, however that ends. If only the session ends, the process may still write;
 * `runner` makes such writes change nothing.
 */
export async function takeNextJob(db: Database, perTenant: number): Promise<TakenJob | undefined> {
  if (!(await queries.hasFreeJob(db))) return undefined;
  const session = await db.openSession();
  let job: StoredJob | undefined;
  try {
    await queries.lockTaking(session);
    const next = await queries.findNextJob(session, perTenant);
    if (next === undefined || !(await tryLock(session, 'exportJobs', next.id))) return undefined;
    const runner = newId('rnr');
    job = await queries.takeJob(session, { ...next, runner });
    await queries.unlockTaking(session);
    return job && { job: { ...job, runner }, session };
  } finally {
    if (job === undefined) await session.close();
  }
}

import { setMaxListeners } from 'node:events';
import { newId } from '../../kernel/ids.ts';
import type { Log } from '../../platform/log.ts';
import { mayPass } from '../../platform/objects/s3-errors.ts';
import { longestWaitMillis, pauseMillis } from '../../platform/objects/store-wait.ts';
import type { Connection, Database, Session } from '../../platform/postgres/database.ts';
import { tryLock } from '../../platform/postgres/locks.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { endSession, lossOf } from '../../platform/work/session-lock.ts';
import { type JobProgress, toFault, type WorkContext } from './context.ts';
import { doJob } from './do-job.ts';
import * as queries from './hold-queries.ts';
import type { Held, StoredJob } from './job.ts';

/** The job was cancelled, was failed from elsewhere, or was taken over. Whoever did that has stored it. */
export class JobLost extends Error {}

/** How often to look without a poke: for jobs that other processes queue, or leave behind when they are killed. */
const lookMillis = 2000;

/**
 * Starts to work on jobs, `places` at once. One process does a job alone, because the hash of a file goes through its
 * parts in their order, while other processes do other jobs. A process may be stopped or killed at any point: what it had
 * is taken up by whoever comes next, which finds the parts that were stored. `onEnded` is called after each attempt.
 */
export function startExportJobs(
  context: WorkContext,
  { places, onEnded, log }: { places: number; onEnded: () => void; log: Log },
): Repeated {
  const running = new Set<Promise<void>>();
  const look = async (signal: AbortSignal) => {
    while (!signal.aborted && running.size < places) {
      const taken = await takeNextJob(context);
      if (taken === undefined) return;
      const exportId = taken.job.id;
      const ended = attemptJob(context, { taken, log, signal })
        .catch((err: unknown) => {
          log.warn({ err, exportId }, 'an export was interrupted and will be taken up again');
        })
        .then(() => {
          running.delete(ended);
          onEnded();
          looks.poke();
        });
      running.add(ended);
    }
  };
  const looks = repeat(look, {
    everyMillis: lookMillis,
    onError: (err) => log.warn({ err }, 'export jobs could not be looked for'),
  });
  return {
    poke: () => looks.poke(),
    async stop() {
      await looks.stop();
      await Promise.all(running);
    },
  };
}

/** A job that this process works on, for as long as the session lives. */
export type TakenJob = { readonly job: StoredJob & Held; readonly session: Session };

/**
 * Takes the next job that is queued or was left behind; undefined when there is none. The lock on the job belongs to a
 * session, so it ends with the process, however that ends. If only the session ends, the process may still write;
 * `runner` makes such writes change nothing.
 */
export async function takeNextJob({ db, perTenant }: WorkContext): Promise<TakenJob | undefined> {
  // Mostly there is none, so no session is opened before this look.
  if ((await queries.findNextJob(db, perTenant)) === undefined) return undefined;
  const session = await db.openSession();
  let job: StoredJob | undefined;
  try {
    await queries.beginTaking(session);
    const next = await queries.findNextJob(session, perTenant);
    if (next === undefined || !(await tryLock(session, 'exportJobs', next.id))) return undefined;
    const held = { ...next, runner: newId('rnr') };
    job = await queries.takeJob(session, held);
    return job && { job: { ...job, ...held }, session };
  } finally {
    if (job === undefined) await session.close();
  }
}

type Attempt = { readonly taken: TakenJob; readonly signal: AbortSignal; readonly log: Log };

/**
 * Works on a job until it ends or cannot go on, and stores which of these happened. It ends itself soon after the
 * signal is aborted, because the process stops, and when the job or the session is lost.
 */
export async function attemptJob(context: WorkContext, attempt: Attempt): Promise<void> {
  const { db } = context;
  const { log, signal } = attempt;
  const { job, session } = attempt.taken;
  const names = { exportId: job.id, attempts: job.attempts };
  const losing = new AbortController();
  const lost = lossOf(session, 'The lock on the export was lost with its connection.');
  const ending = AbortSignal.any([signal, losing.signal, lost]);
  // Whatever a job does side by side listens to it; Node warns of more than ten.
  setMaxListeners(0, ending);
  let progress: () => JobProgress | undefined = () => undefined;
  const watch = watchJob(db, {
    held: job,
    progress: () => progress(),
    onLost: () => losing.abort(new JobLost('the job was cancelled or taken over')),
  });
  try {
    await doJob(context, {
      job,
      signal: ending,
      write: (work) => whileHeld(db, job, work),
      showProgress(now) {
        progress = now;
      },
    });
    log.info(names, 'export completed');
  } catch (error) {
    // Whatever was cut off fails with an error of its own; the reason of the abort is what counts.
    const reason: unknown = ending.aborted ? ending.reason : error;
    await watch.stop();
    if (reason instanceof JobLost) log.info(names, 'export ended from elsewhere');
    // Nothing is wrong with the job when the process stops.
    else if (signal.aborted) await queries.releaseJob(db, job);
    else {
      log.warn({ err: reason, ...names }, 'an export could not go on');
      await writeDown(context, job, reason);
    }
  } finally {
    await watch.stop();
    await endSession(session);
  }
}

/** After this many failed attempts in a row, none of which got anything done, the job fails. */
const mostFailures = 5;

/** Stores why an attempt ended: a fault that may pass leads to a pause, a silent store to a wait for it. */
async function writeDown(
  { db, source, backoffSeconds = usualBackoff }: WorkContext,
  held: Held,
  error: unknown,
): Promise<void> {
  const fault = toFault(error, source.spoolDir);
  const before = await queries.findFailures(db, held);
  const failures = 1 + before.failures;
  const waited = before.waited * 1000;
  const isWaiting = mayPass(error);
  const goesOn = isWaiting
    ? waited < longestWaitMillis
    : fault.isPassing && failures < mostFailures;
  if (goesOn) {
    const seconds = isWaiting ? pauseMillis(waited) / 1000 : backoffSeconds(failures);
    await queries.postponeJob(db, held, { ...fault, isWaiting, seconds });
    return;
  }
  const often = isWaiting
    ? ' It has waited for an hour.'
    : fault.isPassing
      ? ` It was tried ${failures} times.`
      : '';
  await queries.failJob(db, held, { code: fault.code, text: `${fault.text}${often}` });
}

/** The pause after so many failures: 5 s, 10 s, 20 s, 40 s. Together that is longer than a database takes to come back. */
function usualBackoff(failures: number): number {
  return 5 * 2 ** (failures - 1);
}

/** Writes in a transaction as long as the job still belongs to this runner. Throws `JobLost` when it does not. */
export async function whileHeld<T>(
  db: Database,
  held: Held,
  write: (connection: Connection) => Promise<T>,
): Promise<T> {
  return db.transaction(async (connection) => {
    const isHeld = await queries.isStillHeld(connection, held, { forUpdate: true });
    if (!isHeld) throw new JobLost('the job is not held any more');
    return write(connection);
  });
}

/** How often a job is looked at; often enough for a cancel to take effect within a second. */
const watchMillis = 300;
/** Progress is stored with every fourth look, so every 1.2 s at most. */
const looksPerWrite = 4;

/** Checks whether a job is still ours, and stores its progress. The session notices a database that is silent. */
function watchJob(
  db: Database,
  {
    held,
    progress,
    onLost,
  }: { held: Held; progress: () => JobProgress | undefined; onLost: () => void },
): Pick<Repeated, 'stop'> {
  let looks = 0;
  let written: JobProgress | undefined;
  async function isHeldNow(): Promise<boolean> {
    looks += 1;
    const now = progress();
    const isNews = now?.rows !== written?.rows || now?.bytes !== written?.bytes;
    if (now === undefined || looks % looksPerWrite !== 0 || !isNews) {
      return queries.isStillHeld(db, held);
    }
    const isHeld = await queries.updateProgress(db, held, now);
    written = now;
    return isHeld;
  }
  return repeat(
    async (signal) => {
      if (!(await isHeldNow()) && !signal.aborted) onLost();
    },
    { everyMillis: watchMillis, onError: () => {} },
  );
}

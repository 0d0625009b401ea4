import { setMaxListeners } from 'node:events';
import { newId } from '../../kernel/ids.ts';
import type { Log } from '../log.ts';
import { mayPass } from '../objects/s3-errors.ts';
import { longestWaitMillis, pauseMillis } from '../objects/store-wait.ts';
import type { Connection, Database, Row, Session } from '../postgres/database.ts';
import { tryLock } from '../postgres/locks.ts';
import { type Repeated, repeat } from '../work/repeat.ts';
import { endSession, lossOf } from '../work/session-lock.ts';
import type { Held, HeldTable } from './held-queries.ts';
import * as queries from './held-queries.ts';
import { lookMillis } from './runner.ts';

/**
 * A kind of job that one process does alone, because its steps follow on each other, while other processes do other jobs
 * of the kind. A process may be stopped or killed at any point: what it had is taken up by whoever comes next, which
 * finds the steps that were stored.
 */
export type HeldKind<Job extends Row> = {
  /** As the log calls it: `export`. */
  readonly title: string;
  /** The field of the log that names a job. */
  readonly idField: string;
  readonly table: HeldTable;
  /** How many jobs of one tenant run at once, over all processes. */
  readonly perTenant: number;
  /** How long the next attempt waits after so many failed ones, in seconds; usually left out. */
  readonly backoffSeconds?: ((failures: number) => number) | undefined;
  /** Does all that is left of a job, and stores its end. What it throws is the end of the attempt. */
  doJob(job: Job & Held, hold: Hold): Promise<void>;
  readonly toFault: (error: unknown) => Fault;
};

/** What the work on a job has for as long as it holds the job. */
export type Hold = {
  /** Aborts when the job is lost, its session is lost, or the process stops. */
  readonly signal: AbortSignal;
  /** Writes in a transaction as long as the job is held. Throws `JobLost` when it is not. */
  readonly write: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;
  /** Says how to find out how far the job is, which is stored now and then. */
  readonly showProgress: (now: () => JobProgress) => void;
};

export type JobProgress = { readonly rows: number; readonly bytes: number };

/** Why an attempt ended, as callers may see it. `isPassing` says that another attempt may end better. */
export type Fault = { readonly code: string; readonly text: string; readonly isPassing: boolean };

/** The job was cancelled, was failed from elsewhere, or was taken over. Whoever did that has stored it. */
export class JobLost extends Error {}

/** Works on jobs until it is stopped. */
export type HeldRunner = Repeated & {
  /** Stops the work on a job that was cancelled, if this process works on it. */
  cancel(id: string): void;
};

/** Starts to work on the jobs of a kind, `places` at once. `onEnded` is called after each attempt. */
export function startHeldJobs<Job extends Row>(
  db: Database,
  kind: HeldKind<Job>,
  { places, onEnded, log }: { places: number; onEnded: () => void; log: Log },
): HeldRunner {
  const { title, idField } = kind;
  // By runner: an attempt may still wind up when its job is taken again.
  const running = new Map<string, { id: string; abort: AbortController; ended: Promise<void> }>();
  const look = async (signal: AbortSignal) => {
    while (!signal.aborted && running.size < places) {
      const taken = await takeNextJob(db, kind);
      if (taken === undefined) return;
      const { id, runner } = taken.job;
      const abort = new AbortController();
      const ended = attemptJob(db, kind, {
        taken,
        log,
        signal: AbortSignal.any([signal, abort.signal]),
      })
        .catch((err: unknown) => {
          log.warn(
            { err, [idField]: id },
            `an ${title} was interrupted and will be taken up again`,
          );
        })
        .then(() => {
          running.delete(runner);
          onEnded();
          looks.poke();
        });
      running.set(runner, { id, abort, ended });
    }
  };
  const looks = repeat(look, {
    everyMillis: lookMillis,
    onError: (err) => log.warn({ err }, `${title} jobs could not be looked for`),
  });
  return {
    poke: () => looks.poke(),
    cancel(id) {
      for (const attempt of running.values()) {
        if (attempt.id === id) attempt.abort.abort(new JobLost('the job was cancelled'));
      }
    },
    async stop() {
      await looks.stop();
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}

/** A job that this process works on, for as long as the session lives. */
export type TakenJob<Job> = { readonly job: Job & Held; readonly session: Session };

/**
 * Takes the next job that is queued or was left behind; undefined when there is none. The lock on the job belongs to a
 * session, so it ends with the process, however that ends. If only the session ends, the process may still write;
 * `runner` makes such writes change nothing.
 */
export async function takeNextJob<Job extends Row>(
  db: Database,
  { table, perTenant }: HeldKind<Job>,
): Promise<TakenJob<Job> | undefined> {
  if (!(await queries.hasFreeJob(db, table))) return undefined;
  const session = await db.openSession();
  let job: Job | undefined;
  try {
    const next = await queries.findNextJob(session, table, perTenant);
    if (next === undefined || !(await tryLock(session, table.lock, next.id))) return undefined;
    const held = { ...next, runner: newId('rnr') };
    job = await queries.takeJob<Job>(session, table, held);
    return job && { job: { ...job, ...held }, session };
  } finally {
    if (job === undefined) await session.close();
  }
}

type Attempt<Job> = {
  readonly taken: TakenJob<Job>;
  readonly signal: AbortSignal;
  readonly log: Log;
};

/**
 * Works on a job until it ends or cannot go on, and stores which of these happened. It ends itself soon after the
 * signal is aborted, by `JobLost` or because the process stops, and when the session is lost.
 */
export async function attemptJob<Job extends Row>(
  db: Database,
  kind: HeldKind<Job>,
  attempt: Attempt<Job>,
): Promise<void> {
  const { title, table } = kind;
  const { log, signal } = attempt;
  const { job, session } = attempt.taken;
  const names = { [kind.idField]: job.id, attempts: job['attempts'] };
  const losing = new AbortController();
  const lost = lossOf(session, `The lock on the ${title} was lost with its connection.`);
  const ending = AbortSignal.any([signal, losing.signal, lost]);
  // Whatever a job does side by side listens to it; Node warns of more than ten.
  setMaxListeners(0, ending);
  let progress: () => JobProgress | undefined = () => undefined;
  const watch = watchJob(db, table, {
    held: job,
    progress: () => progress(),
    onLost: () => losing.abort(new JobLost('the job was cancelled or taken over')),
  });
  try {
    await kind.doJob(job, {
      signal: ending,
      write: (work) => whileHeld(db, { table, held: job }, work),
      showProgress(now) {
        progress = now;
      },
    });
    log.info(names, `${title} completed`);
  } catch (error) {
    // Whatever was cut off fails with an error of its own; the reason of the abort is what counts.
    const reason: unknown = ending.aborted ? ending.reason : error;
    await watch.stop();
    if (reason instanceof JobLost) log.info(names, `${title} ended from elsewhere`);
    // Nothing is wrong with the job when the process stops.
    else if (signal.aborted) await queries.releaseJob(db, table, job);
    else {
      log.warn({ err: reason, ...names }, `an ${title} could not go on`);
      await writeDown(db, kind, { held: job, error: reason });
    }
  } finally {
    await watch.stop();
    await endSession(session);
  }
}

/** After this many failed attempts in a row, none of which got anything done, the job fails. */
const mostFailures = 5;

/** Stores why an attempt ended: a fault that may pass leads to a pause, a silent store to a wait for it. */
async function writeDown<Job extends Row>(
  db: Database,
  { table, toFault, backoffSeconds = usualBackoff }: HeldKind<Job>,
  { held, error }: { held: Held; error: unknown },
): Promise<void> {
  const fault = toFault(error);
  const before = await queries.findFailures(db, table, held);
  const failures = 1 + before.failures;
  const waited = before.waited * 1000;
  const isWaiting = mayPass(error);
  const goesOn = isWaiting
    ? waited < longestWaitMillis
    : fault.isPassing && failures < mostFailures;
  if (goesOn) {
    const seconds = isWaiting ? pauseMillis(waited) / 1000 : backoffSeconds(failures);
    await queries.postponeJob(db, table, held, { ...fault, isWaiting, seconds });
    return;
  }
  const often = isWaiting
    ? ' It has waited for an hour.'
    : fault.isPassing
      ? ` It was tried ${failures} times.`
      : '';
  await queries.failJob(db, table, held, { code: fault.code, text: `${fault.text}${often}` });
}

/** The pause after so many failures: 5 s, 10 s, 20 s, 40 s. Together that is longer than a database takes to come back. */
function usualBackoff(failures: number): number {
  return 5 * 2 ** (failures - 1);
}

/** Writes in a transaction as long as the job still belongs to this runner. Throws `JobLost` when it does not. */
export async function whileHeld<T>(
  db: Database,
  { table, held }: { table: HeldTable; held: Held },
  write: (connection: Connection) => Promise<T>,
): Promise<T> {
  return db.transaction(async (connection) => {
    const isHeld = await queries.isStillHeld(connection, table, held, { forUpdate: true });
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
  table: HeldTable,
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
      return queries.isStillHeld(db, table, held);
    }
    const isHeld = await queries.updateProgress(db, table, held, now);
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

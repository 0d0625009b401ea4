import type { Log } from '../log.ts';
import { createStoreWait, type StoreWait, type StoreWaitOptions } from '../objects/store-wait.ts';
import type { Connection, Database, Session } from '../postgres/database.ts';
import { addShares, doShares, dropShares, endShares } from '../postgres/shares.ts';
import { type Repeated, repeat } from '../work/repeat.ts';
import { withSessionLock } from '../work/session-lock.ts';
import * as queries from './queries.ts';

/** What the work on a share has. */
export type ShareCall = {
  /** Its locks are those of this process. When it is lost, the signal aborts. */
  readonly session: Session;
  readonly signal: AbortSignal;
  /** How to wait for a store that does not answer; the job tells meanwhile that it waits. */
  readonly wait: StoreWait;
};

/**
 * A kind of job that processes divide among themselves: one of them plans it, all do shares of it, and whoever did the
 * last finishes it. A process may be stopped or killed at any point: what it had of a job is done by whoever comes next.
 */
export type JobKind<Job extends queries.JobState, Share> = {
  /** As the log calls it: `retention run`. */
  readonly title: string;
  readonly table: queries.JobTable;
  /** Is held, shared, by the processes at work. It keeps out those of a release that did such jobs alone. */
  readonly lock: 'retentionRuns' | 'verifications';
  /** How many shares a process does at the same time; one by default. */
  readonly atOnce?: number | undefined;
  /** How to wait; usually left out. */
  readonly waiting?: Pick<StoreWaitOptions, 'now' | 'sleep'>;
  /** Cuts a job into shares, in the transaction that stores them. */
  plan(connection: Connection, job: Job): Promise<readonly Share[]>;
  /** Is called once by each process, before its first share of a job. */
  begin?(signal: AbortSignal): Promise<void>;
  /** Does a share, and returns what stores its outcome. What it throws is the end of the job. */
  doShare(
    job: Job,
    share: Share,
    call: ShareCall,
  ): Promise<(connection: Connection) => Promise<void>>;
  /** The text of an error that callers may see. */
  reasonOf(error: unknown): string;
  /** Is done after the last share, also of a job that failed. It may be done again when the process dies meanwhile. */
  finish?(job: Job, signal: AbortSignal): Promise<void>;
  /** Is called by the process that ended a job. */
  onEnded?(signal: AbortSignal): Promise<void>;
};

/** How often to look without a poke: for jobs that other processes queue, or leave behind when they are killed. */
const lookMillis = 2000;

/** Does the jobs of a kind until it is stopped. Every process whose role it is does this. */
export function startJobs<Job extends queries.JobState, Share>(
  db: Database,
  kind: JobKind<Job, Share>,
  log: Log,
): Repeated {
  return repeat((signal) => doJobs(db, kind, { log, signal }), {
    everyMillis: lookMillis,
    onError: (err) =>
      log.warn({ err }, `a ${kind.title} was interrupted and will be taken up again`),
  });
}

/** Does all jobs that are queued or under way, one by one, as far as other processes leave something of them. */
export async function doJobs<Job extends queries.JobState, Share>(
  db: Database,
  kind: JobKind<Job, Share>,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> {
  const { table, title } = kind;
  if (!(await queries.hasFreeJob(db, table))) return;

  /** Takes the job to work on, and cuts it into shares unless somebody has; undefined when there is none. */
  const take = () =>
    db.transaction(async (connection) => {
      const job = await queries.takeJob<Job>(connection, table);
      if (job === undefined || job.is_divided) return job;
      const shares = await kind.plan(connection, job);
      await dropShares(connection, job.id);
      await addShares(connection, job.id, shares);
      await queries.noteDivided(connection, table, job.id);
      return job;
    });

  /** Does what other processes leave of a job, and ends it after the last share. Returns whether it has ended. */
  async function doJob(job: Job, ending: AbortSignal, session: Session): Promise<boolean> {
    const divided = { job: job.id, session, signal: ending };
    let begun: Promise<void> | undefined;
    await doShares<Share>(db, divided, {
      atOnce: kind.atOnce,
      async doShare(share) {
        const note: StoreWaitOptions['note'] = (waiting) =>
          queries.noteWaiting(db, table, job.id, waiting);
        const wait = createStoreWait({ ...kind.waiting, signal: ending, note });
        begun ??= wait.run(async () => kind.begin?.(ending));
        await begun;
        return kind.doShare(job, share, { session, signal: ending, wait });
      },
      async fail(connection, error) {
        log.error({ err: error, job: job.id }, `a ${title} failed`);
        await queries.noteFailure(connection, table, job.id, kind.reasonOf(error));
      },
    });
    return endShares(db, divided, async () => {
      if (!(await queries.isRunning(db, table, job.id))) return;
      await kind.finish?.(job, ending);
      await queries.finishJob(db, table, job.id);
      log.info({ job: job.id }, `a ${title} ended`);
    });
  }

  const lost = `The lock on the ${title} was lost with its connection.`;
  const work = async (ending: AbortSignal, session: Session) => {
    for (;;) {
      ending.throwIfAborted();
      const job = await take();
      // What is left is at work in other processes. Whoever ends the last share of it goes on.
      if (job === undefined || !(await doJob(job, ending, session))) return;
      await kind.onEnded?.(ending);
    }
  };
  await withSessionLock(db, { name: kind.lock, isShared: true }, { signal, lost, work });
}

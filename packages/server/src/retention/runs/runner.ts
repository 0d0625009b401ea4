import type { Log } from '../../platform/log.ts';
import type { Database, Session } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
import { stopTogether } from '../../platform/work/stop.ts';
import { beginRun, doRun, type Movers, type RunContext } from './do-run.ts';
import { hasFreeRun } from './queries.ts';
import { createScheduler, type Schedule, type ScheduleOptions } from './schedule.ts';

export type RunnerOptions = Movers &
  ScheduleOptions & {
    /** Deletes history that is too old; called after each run. */
    prune(signal: AbortSignal): Promise<void>;
    /** Removes the objects that nothing has referred to for long enough; called at each look. */
    removeObjects(signal: AbortSignal): Promise<void>;
    /** null means that runs are done only when somebody asks for them. */
    readonly schedule: Schedule | null;
    readonly log: Log;
  };

/**
 * How often work is looked for without a poke: other processes queue runs, and leave some behind when they are killed.
 */
const lookMillis = 2000;

/**
 * Does the runs of the database. Every process of the role retention does this: they divide the tenants of a run, and
 * do one run at a time. The tenant that a process is at work on when it stops is taken up by another process, or by
 * this one at its next start.
 */
export function startRunner(db: Database, options: RunnerOptions): Repeated {
  const { log, schedule, clock } = options;
  const every = (work: (signal: AbortSignal) => Promise<void>, fault: string) =>
    repeat(work, { everyMillis: lookMillis, onError: (err) => log.warn({ err }, fault) });
  const runs = every(
    (signal) => doRuns(db, { ...options, signal }),
    'a retention run was interrupted and will be taken up again',
  );
  const removals = every(
    (signal) => options.removeObjects(signal),
    'objects of no use could not be removed yet',
  );
  const { onScheduled } = options;
  const queue =
    schedule === null ? undefined : createScheduler(db, schedule, { clock, onScheduled });
  const ticks =
    queue &&
    every(async () => {
      if (await queue()) runs.poke();
    }, 'the scheduled retention run could not be queued');
  return {
    poke: () => runs.poke(),
    async stop() {
      await stopTogether([runs, removals, ...(ticks === undefined ? [] : [ticks])], log);
    },
  };
}

/**
 * Does all runs that are queued or under way, as far as other processes leave something of them. The lock that these
 * processes share keeps out those of the release before, which did runs alone.
 */
export async function doRuns(
  db: Database,
  options: Omit<RunContext, 'session'> & Pick<RunnerOptions, 'prune'>,
): Promise<void> {
  if (!(await hasFreeRun(db))) return;
  const lost = 'The lock on retention runs was lost with its connection.';
  const work = async (signal: AbortSignal, session: Session) => {
    while (!signal.aborted) {
      const run = await beginRun(db);
      // What is left is at work in other processes. Whoever ends the last share of it goes on.
      if (run === undefined || !(await doRun(db, run, { ...options, session, signal }))) return;
      await options.prune(signal).catch((err: unknown) => {
        signal.throwIfAborted();
        options.log.warn({ err }, 'what is too old could not be removed; the next run tries again');
      });
    }
  };
  const lock = { name: 'retentionRuns', isShared: true } as const;
  await withSessionLock(db, lock, { signal: options.signal, lost, work });
}

import { Cron } from 'croner';
import type { Clock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
import { doRun, type Movers } from './do-run.ts';
import * as queries from './queries.ts';

export type RunnerOptions = Movers & {
  /** Forgets what is too old to be kept on record; called after each run. */
  prune(signal: AbortSignal): Promise<void>;
  /** Removes the objects that nothing has referred to for long enough; called at each look. */
  removeObjects(signal: AbortSignal): Promise<void>;
  /** null = runs only when asked to. */
  readonly schedule: Schedule | null;
  readonly clock: Clock;
  readonly log: Log;
};

/** Work is also looked for by itself: other processes queue runs, and leave some behind when killed. */
const lookMillis = 2000;

/**
 * Does the runs of the database, in every process of the role retention, one run at a time over all. What is under
 * way when it stops is taken up by another process, or by this one at its next start.
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
  const queue = schedule === null ? undefined : createScheduler(db, schedule, clock);
  const ticks =
    queue &&
    every(async () => {
      if (await queue()) runs.poke();
    }, 'the scheduled retention run could not be queued');
  return {
    poke: () => runs.poke(),
    async stop() {
      await Promise.all([runs.stop(), removals.stop(), ticks?.stop()]);
    },
  };
}

/** Does all runs that are queued or were left behind, unless another process is at it. */
export async function doRuns(
  db: Database,
  options: Movers & Pick<RunnerOptions, 'prune' | 'log'> & { signal: AbortSignal },
): Promise<void> {
  if (!(await queries.hasFreeRun(db))) return;
  const lost = 'The lock on retention runs was lost with its connection.';
  const work = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const run = await queries.takeRun(db);
      if (run === undefined) return;
      await doRun(db, run, { ...options, signal });
      await options.prune(signal).catch((err: unknown) => {
        signal.throwIfAborted();
        options.log.warn({ err }, 'what is too old could not be removed; the next run tries again');
      });
    }
  };
  await withSessionLock(db, { name: 'retentionRuns' }, { signal: options.signal, lost, work });
}

/**
 * Queues the run of each minute of the schedule that has passed since the last call; says whether it did.
 * A clock that is set back comes by such a minute again: the run is there already. Of several that passed
 * at once, on a machine that slept, one is made up for.
 */
export function createScheduler(
  db: Database,
  schedule: Schedule,
  clock: Clock,
): () => Promise<boolean> {
  let since = clock();
  return async () => {
    const now = clock();
    const due = schedule.next(since);
    if (due === null || due > now) {
      since = now;
      return false;
    }
    const isQueued = await queries.insertScheduledRun(db, {
      id: newId('run'),
      scheduledFor: new Date(due).toISOString(),
    });
    // Only now: what could not be written is tried again.
    since = now;
    return isQueued;
  };
}

/** When retention runs by itself. */
export type Schedule = {
  /** The first minute after `millis` that it falls on; null = never again. Milliseconds since 1970. */
  next(millis: number): number | null;
};

/**
 * Reads five fields of cron, in UTC; null for `off`. Throws `settings_invalid` for all else, and for a
 * date that never comes, such as 30 February.
 */
export function parseSchedule(text: string): Schedule | null {
  const fields = text.trim().split(/\s+/);
  if (text.trim() === 'off') return null;
  // No `?`, which means the time of the process's start: each process would run at another.
  if (fields.length !== 5 || !fields.every((field) => /^[0-9A-Za-z*,/#-]+$/.test(field))) {
    throw scheduleInvalid(text, 'it must have five fields: minute, hour, day, month, weekday');
  }
  const cron = parse(text, fields.join(' '));
  const next = (millis: number) => cron.nextRun(new Date(millis))?.getTime() ?? null;
  if (next(0) === null) throw scheduleInvalid(text, 'no date ever fits it');
  return { next };
}

function parse(text: string, pattern: string): Cron {
  try {
    // Without a function to call it is a calendar only: it starts no timer.
    return new Cron(pattern, { timezone: 'UTC', paused: true });
  } catch (cause) {
    throw scheduleInvalid(text, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function scheduleInvalid(text: string, reason: string, cause?: unknown): AppError {
  return new AppError('settings_invalid', {
    detail: `SVC_RETENTION_SCHEDULE: ${JSON.stringify(text)} is no schedule: ${reason}. Give one such as "17 3 * * *" (each day at 03:17 UTC), or off.`,
    cause,
  });
}

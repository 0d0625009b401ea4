import { Cron } from 'croner';
import type { Clock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Log } from '../../platform/log.ts';
import type { Connection, Database, Session } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { withSessionLock } from '../../platform/work/session-lock.ts';
import { stopTogether } from '../../platform/work/stop.ts';
import { beginRun, doRun, type Movers, type RunContext } from './do-run.ts';
import * as queries from './queries.ts';

export type RunnerOptions = Movers & {
  /** Deletes history that is too old; called after each run. */
  prune(signal: AbortSignal): Promise<void>;
  /** Removes the objects that nothing has referred to for long enough; called at each look. */
  removeObjects(signal: AbortSignal): Promise<void>;
  /** null means that runs are done only when somebody asks for them. */
  readonly schedule: Schedule | null;
  /** Queues what else is due when the schedule queues a run, in the same transaction. */
  readonly onScheduled?: ((connection: Connection) => Promise<void>) | undefined;
  readonly clock: Clock;
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
  if (!(await queries.hasFreeRun(db))) return;
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

/**
 * Returns a function that queues a run when a minute of the schedule has passed since the last one for which a run was
 * queued, and says whether it did. It asks the database for that one at its first call: so a minute that falls into a
 * restart is made up for, if it is not older than a day. When the clock is set back, the same minute comes again, but
 * its run exists already. When several minutes have passed at once, as on a machine that slept, one run makes up for
 * all.
 */
export function createScheduler(
  db: Database,
  schedule: Schedule,
  { clock, onScheduled }: Pick<RunnerOptions, 'clock' | 'onScheduled'>,
): () => Promise<boolean> {
  const startedAt = clock();
  let since: number | undefined;
  return async () => {
    const now = clock();
    if (since === undefined) {
      // A time to come is of a clock that was ahead.
      const last = Math.min(await queries.findLastScheduled(db), startedAt);
      since = Math.max(last, startedAt - dayMillis);
    }
    const due = lastDue(schedule, { since, now });
    if (due === null) {
      since = now;
      return false;
    }
    const run = { id: newId('run'), scheduledFor: new Date(due).toISOString() };
    const isQueued = await db.transaction(async (connection) => {
      const isFirst = await queries.insertScheduledRun(connection, run);
      if (isFirst) await onScheduled?.(connection);
      return isFirst;
    });
    // Only now is the time noted, so that a run which could not be stored is tried again.
    since = now;
    return isQueued;
  };
}

const dayMillis = 86_400_000;

/**
 * The latest minute of the schedule that has passed, so that the next start finds nothing left to make up for; null when
 * none has. Only a day is walked through: of a rarer schedule any minute does.
 */
function lastDue(
  schedule: Schedule,
  { since, now }: { since: number; now: number },
): number | null {
  const passed = (after: number) => {
    const next = schedule.next(after);
    return next !== null && next <= now ? next : null;
  };
  let due = passed(since);
  for (let next = passed(Math.max(since, now - dayMillis)); next !== null; next = passed(next)) {
    due = next;
  }
  return due;
}

/** Says when retention runs by itself. */
export type Schedule = {
  /** The first minute of the schedule after `millis`, in milliseconds since 1970; null means never again. */
  next(millis: number): number | null;
};

/**
 * Reads a schedule of five cron fields, in UTC; null for `off`. Throws `settings_invalid` for anything else, and for a
 * date that never comes, such as 30 February.
 */
export function parseSchedule(text: string): Schedule | null {
  const fields = text.trim().split(/\s+/);
  if (text.trim() === 'off') return null;
  // A `?` is refused: it means the time when the process started, so each process would have another schedule.
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
    // Without a function to call, Cron is only a calendar and starts no timer.
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

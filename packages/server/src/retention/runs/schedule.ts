import type { Clock } from '../../kernel/clock.ts';
import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { type Cron, parseCron } from '../../platform/cron.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { findLastScheduled, insertScheduledRun } from './queries.ts';

/** Says when retention runs by itself. */
export type Schedule = Cron;

export type ScheduleOptions = {
  readonly clock: Clock;
  /** Queues what else is due when the schedule queues a run, in the same transaction. */
  readonly onScheduled?: ((connection: Connection) => Promise<void>) | undefined;
};

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
  { clock, onScheduled }: ScheduleOptions,
): () => Promise<boolean> {
  const startedAt = clock();
  let since: number | undefined;
  return async () => {
    const now = clock();
    if (since === undefined) {
      // A time to come is of a clock that was ahead.
      const last = Math.min(await findLastScheduled(db), startedAt);
      since = Math.max(last, startedAt - dayMillis);
    }
    const due = lastDue(schedule, { since, now });
    if (due === null) {
      since = now;
      return false;
    }
    const run = { id: newId('run'), scheduledFor: new Date(due).toISOString() };
    const isQueued = await db.transaction(async (connection) => {
      const isFirst = await insertScheduledRun(connection, run);
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
 * The latest minute of the schedule that has passed; null: none. Only a day is walked: of a rarer schedule any will do.
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

/** Reads five cron fields, in UTC; null for `off`. Throws `settings_invalid`, also for dates such as 30 February. */
export function parseSchedule(text: string): Schedule | null {
  if (text.trim() === 'off') return null;
  try {
    return parseCron(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('settings_invalid', {
      detail: `SVC_RETENTION_SCHEDULE: ${JSON.stringify(text)} is no schedule: ${reason}. Give one such as "17 3 * * *" (each day at 03:17 UTC), or off.`,
      cause,
    });
  }
}

import { Cron } from 'croner';
import { AppError } from '../../kernel/errors.ts';

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

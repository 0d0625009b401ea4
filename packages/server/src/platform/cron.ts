import { Cron as Calendar } from 'croner';

/** The times that five fields of cron mean, in UTC. */
export type Cron = {
  /** The first minute after `millis`, in milliseconds since 1970; null means never again. */
  next(millis: number): number | null;
};

/** Reads five fields of cron. Throws an Error that says what is wrong with them, also with a date that never comes. */
export function parseCron(text: string): Cron {
  const fields = text.trim().split(/\s+/);
  // A `?` is refused: it means the time when the process started, so each process would have another schedule.
  if (fields.length !== 5 || !fields.every((field) => /^[0-9A-Za-z*,/#-]+$/.test(field))) {
    throw new Error('it must have five fields: minute, hour, day, month, weekday');
  }
  // Without a function to call, it is only a calendar and starts no timer.
  const calendar = new Calendar(fields.join(' '), { timezone: 'UTC', paused: true });
  const next = (millis: number) => calendar.nextRun(new Date(millis))?.getTime() ?? null;
  if (next(0) === null) throw new Error('no date ever fits it');
  return { next };
}

import { AppError } from '../kernel/errors.ts';
import { shortWaitOf } from '../kernel/values.ts';
import { ApiError } from './api-error.ts';
import type { Io } from './io.ts';

export const maxTries = 10;
const longestWaitSeconds = 60;

/**
 * Calls again while the service answers 429 or 503, ten times in all. It waits as long as the service asks for, a
 * second if it does not say, a minute at most. Only for calls that may be repeated.
 */
export async function withRetries<T>(
  io: Io,
  attempt: () => Promise<T>,
  onWait: (seconds: number, error: ApiError) => void = () => {},
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || tries === maxTries) throw error;
      const seconds = Math.min(longestWaitSeconds, error.retryAfterSeconds ?? 1);
      onWait(seconds, error);
      await io.sleep(seconds * 1000, io.signal);
    }
  }
}

/**
 * Works on while the service is busy or does not answer, as while it restarts: after ten failures in a row, which waits
 * of a minute at most come after, it gives up. `work` begins where it stopped, and says when it got on.
 */
export async function throughOutages<T>(
  io: Io,
  note: (text: string) => void,
  work: (gotOn: () => void) => Promise<T>,
): Promise<T> {
  let tries = 0;
  for (;;) {
    try {
      return await work(() => {
        tries = 0;
      });
    } catch (error) {
      tries += 1;
      if ((!isBusy(error) && !isUnreachable(error)) || tries === maxTries) throw error;
      const seconds = Math.min(longestWaitSeconds, error.retryAfterSeconds ?? 2 ** (tries - 1));
      note(`The service cannot take it now (${error.code}); trying again in ${seconds} s …`);
      await io.sleep(seconds * 1000, io.signal);
    }
  }
}

/**
 * Makes any call again that was refused before anything was done, if the service asks for a few seconds at most: a command
 * should answer quickly. What asks for more fails, and tells when to try again.
 */
export async function afterShortWaits<T>(io: Io, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      const seconds = error instanceof ApiError ? shortWaitOf(error, tries) : null;
      if (seconds === null) throw error;
      await io.sleep(seconds * 1000, io.signal);
    }
  }
}

/** Whether the service said "not now": 429 or 503. */
export function isBusy(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 429 || error.status === 503);
}

/** Whether nobody answered. */
export function isUnreachable(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'service_unreachable';
}

/** The error that an aborted wait or call throws. */
export function interrupted(): AppError {
  return new AppError('interrupted');
}

import { AppError } from '../kernel/errors.ts';
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

/** Whether the service said "not now": 429 or 503. */
export function isBusy(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 429 || error.status === 503);
}

/** The error that an aborted wait or call throws. */
export function interrupted(): AppError {
  return new AppError('interrupted');
}

import { setTimeout } from 'node:timers/promises';
import { AppError } from '../../kernel/errors.ts';
import { DuckDbAway } from '../duckdb.ts';
import { mayPass } from './s3-errors.ts';

/** Whoever gets nothing done for so long gives up: somebody has to look at the store. */
export const longestWaitMillis = 3_600_000;
const firstPauseMillis = 1000;
const longestPauseMillis = 60_000;

/** How long to rest before the store is asked again: twice as long each time, up to a minute, not all at once. */
export function pauseMillis(waitedMillis: number, random: () => number = Math.random): number {
  const longest = Math.min(Math.max(waitedMillis, firstPauseMillis), longestPauseMillis);
  return longest * (0.5 + random() / 2);
}

/** Work that waits while its store does not answer, as a tenant's share of a retention run. */
export type StoreWait = {
  /**
   * Repeats `work` while its store may come back: for an hour without progress. Once it also repeats what DuckDB has died
   * under, or was too slow for. Throws any other fault at once.
   */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Something was done, so the hour begins anew. */
  goesOn(): Promise<void>;
};

export type StoreWaitOptions = {
  readonly signal: AbortSignal;
  /** Is called at each failure, and with null when the work goes on. It may store that for others to see. */
  readonly note: (waiting: { reason: string; seconds: number } | null) => Promise<void>;
  /** These are usually left out. */
  readonly now?: (() => number) | undefined;
  readonly sleep?: ((millis: number, signal: AbortSignal) => Promise<unknown>) | undefined;
};

export function createStoreWait({
  signal,
  note,
  now = () => performance.now(),
  sleep = (millis, ending) => setTimeout(millis, undefined, { signal: ending }),
}: StoreWaitOptions): StoreWait {
  let since: number | null = null;
  let hasDied = false;
  const goesOn = async () => {
    if (since === null) return;
    since = null;
    hasDied = false;
    await note(null);
  };
  return {
    goesOn,
    async run(work) {
      for (;;) {
        try {
          const result = await work();
          await goesOn();
          return result;
        } catch (error) {
          if (signal.aborted || !(error instanceof AppError)) throw error;
          const isDead = error.cause instanceof DuckDbAway;
          if (isDead ? hasDied : !mayPass(error)) throw error;
          hasDied ||= isDead;
          since ??= now();
          const waited = now() - since;
          if (waited >= longestWaitMillis) throw error;
          await note({ reason: error.detail, seconds: waited / 1000 });
          await sleep(pauseMillis(waited), signal);
        }
      }
    },
  };
}

import { AsyncResource } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pace } from './pace.ts';

/** Work that is done again and again, but never twice at the same time. */
export type Repeated = {
  /** Does the work now. If it is under way already, it is done once more right afterwards. */
  poke(): void;
  /** Aborts the work that is under way and returns when that has ended. */
  stop(): Promise<void>;
};

/** Background work of a process. It is started only when the database is ready. */
export type Work = Repeated & { start(): void };

/** Work that `begin` begins, in a process that does it; in all others nothing comes of it. */
export function startLater(isDoneHere: boolean, begin: () => Repeated): Work {
  let begun: Repeated | undefined;
  return {
    start() {
      if (isDoneHere) begun = begin();
    },
    poke: () => begun?.poke(),
    stop: async () => begun?.stop(),
  };
}

/** Waits for so long, or until the signal aborts. A process may end meanwhile. */
export async function rest(millis: number, signal: AbortSignal): Promise<void> {
  await delay(millis, undefined, { signal, ref: false }).catch(() => {});
}

type Working<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Does `work` whenever it is poked, and `everyMillis` after it last ended. If `work` returns a smaller number of
 * milliseconds, it is done again after that time. What it throws is given to `onError`, and the repetition goes on.
 */
export function repeat(
  work: Working<void> | Working<number | undefined>,
  options: { everyMillis: number; onError: (error: unknown) => void },
): Repeated {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isPoked = false;
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function workOff(): Promise<void> {
    let waitMillis = options.everyMillis;
    // Pokes that come while the work runs are merged: the loop runs once more for all of them.
    while (isPoked && !signal.aborted) {
      isPoked = false;
      waitMillis = options.everyMillis;
      try {
        waitMillis = Math.min(waitMillis, (await work(signal)) ?? waitMillis);
      } catch (error) {
        if (!signal.aborted) options.onError(error);
      }
    }
    underWay = undefined;
    waitFor(waitMillis);
  }
  // Whoever pokes is not the one in whose name the work is done.
  const look = AsyncResource.bind(() => {
    clearTimeout(timer);
    if (signal.aborted) return;
    isPoked = true;
    underWay ??= workOff();
  });
  function waitFor(millis: number): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    timer = setTimeout(look, millis);
    timer.unref();
  }

  waitFor(options.everyMillis);
  return {
    poke: look,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await underWay;
    },
  };
}

/** What came of a share: whether anything was done, and else when to look again; null: when poked, or in the usual time. */
export type ShareDone = { readonly hasWorked: boolean; readonly waitMillis: number | null };

/** Does share after share, and looks again as `repeat` does. It gives way, and rests as long as it worked. */
export function repeatShares(
  doShare: () => Promise<ShareDone>,
  { pace, ...options }: Parameters<typeof repeat>[1] & { pace: Pace },
): Repeated {
  return repeat(async (signal) => {
    const giveWay = pace.begin();
    while (!signal.aborted) {
      const startedAt = performance.now();
      const { hasWorked, waitMillis } = await doShare();
      if (!hasWorked) return waitMillis ?? undefined;
      await rest(performance.now() - startedAt, signal);
      await giveWay(signal);
    }
    return undefined;
  }, options);
}

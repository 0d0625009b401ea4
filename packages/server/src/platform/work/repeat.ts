/** Work that is done again and again, never twice at once. */
export type Repeated = {
  /** Does it now, or once more right after what is under way. */
  poke(): void;
  /** Aborts what is under way, and ends when that has. */
  stop(): Promise<void>;
};

/** Work of a process that begins once its database is ready. */
export type Work = Repeated & { start(): void };

type Working<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Does `work` whenever poked, and this long after it last ended, or sooner if it answers with fewer
 * milliseconds. What it throws goes to `onError`.
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
  function look(): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    isPoked = true;
    underWay ??= workOff();
  }
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

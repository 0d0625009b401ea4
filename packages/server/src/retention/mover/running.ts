/** Work that a stop ends and waits for. */
export type Running = {
  /** Is aborted by the stop. */
  readonly signal: AbortSignal;
  /** Whoever asked for the work gets its error, not the stop. */
  add(work: Promise<unknown>): void;
  stop(): Promise<void>;
};

export function createRunning(): Running {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    signal: stopping.signal,
    add(work) {
      const settled: Promise<unknown> = work.catch(() => {}).finally(() => running.delete(settled));
      running.add(settled);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

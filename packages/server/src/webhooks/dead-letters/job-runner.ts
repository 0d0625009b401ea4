import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { WakeUp } from '../drainer/wake-up.ts';
import { runBatch } from './jobs/run-batch.ts';

/** Works off the bulk re-arms, in every process of the role api, one process a job at a time. */
export type JobRunner = {
  /** Looks for work now: a job was made or changed here. */
  poke(): void;
  /** Ends after the batch under way. */
  stop(): Promise<void>;
};

/** Jobs are also looked for by themselves: a process that was killed leaves its own behind. */
const lookMillis = 2000;

export function startJobRunner(
  db: Database,
  { wakeUp, log }: { wakeUp: WakeUp; log: Log },
): JobRunner {
  const stopping = new AbortController();
  const { signal } = stopping;
  let isPoked = false;
  let underWay: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  /** Works until there is nothing to do; answers when to look again. */
  async function workOff(): Promise<number> {
    try {
      while (!signal.aborted) {
        isPoked = false;
        const startedAt = performance.now();
        const { hasWorked, waitMillis } = await runBatch(db, wakeUp);
        if (!hasWorked && !isPoked) return Math.min(waitMillis ?? lookMillis, lookMillis);
        // Rests as long as it worked: deliveries and pages go first.
        if (hasWorked) await rest(performance.now() - startedAt, signal);
      }
    } catch (error) {
      log.warn({ err: error }, 'a batch of a bulk job failed and is tried again');
    }
    return lookMillis;
  }
  function look(): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    isPoked = true;
    underWay ??= workOff().then((millis) => {
      underWay = undefined;
      lookIn(millis);
    });
  }
  function lookIn(millis: number): void {
    if (signal.aborted) return;
    timer = setTimeout(look, millis);
    timer.unref();
  }

  lookIn(lookMillis);
  return {
    poke: look,
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await underWay;
    },
  };
}

async function rest(millis: number, signal: AbortSignal): Promise<void> {
  await delay(millis, undefined, { signal, ref: false }).catch(() => {});
}

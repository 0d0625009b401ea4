import { setTimeout } from 'node:timers/promises';
import type { Log } from '../log.ts';

/** What ends the things that were started, in the order in which they were. */
export type Closers = (() => Promise<unknown>)[];

/** What can be cut when the service ends; each does nothing before there is something to cut. */
export type Cuts = { requests(): void; attempts(): void; database(): void };

/** After which shares of its time a stop cuts what. */
export const cutShares = { requests: 2 / 3, attempts: 3 / 4, database: 9 / 10 };
const cutAgainMillis = 100;

/**
 * Ends what was started, the last first. After two thirds of the time requests are cut, and the connections to
 * the database once: whoever waits in vain is free, and whoever has an outcome to write connects anew,
 * however far away the database is. Webhooks may take a little longer, so that what was answered counts. At
 * last whoever still tries the database loses each connection. What even that does not end ends with the process.
 */
export async function endInTime(
  closers: Closers,
  { millis, cuts, log }: { millis: number; cuts: Cuts; log: Log },
): Promise<void> {
  const startedAt = performance.now();
  const ended = new AbortController();
  const { signal } = ended;
  const closeAll = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const cutLate = async () => {
    await setTimeout(millis * cutShares.requests, undefined, { signal });
    log.warn('requests or work take too long to end: they are cut');
    cuts.database();
    for (;;) {
      cuts.requests();
      const passed = (performance.now() - startedAt) / millis;
      if (passed >= cutShares.attempts) cuts.attempts();
      if (passed >= cutShares.database) cuts.database();
      await setTimeout(cutAgainMillis, undefined, { signal });
    }
  };
  const giveUp = async () => {
    await setTimeout(millis, undefined, { signal });
    log.error('not everything ended in time');
  };
  cutLate().catch(() => {});
  const late = giveUp();
  late.catch(() => {});
  await Promise.race([closeAll(), late]).finally(() => ended.abort());
}

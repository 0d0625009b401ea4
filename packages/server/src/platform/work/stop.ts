import { setTimeout } from 'node:timers/promises';
import type { Log } from '../log.ts';

/** The functions that end what was started, in the order in which it was started. */
export type Closers = (() => Promise<unknown>)[];

/** What can be cut when the service must end. Each function does nothing until there is something to cut. */
export type Cuts = { requests(): void; attempts(): void; database(): void };

/** At a stop, each of these is cut after this share of the time that the stop may take. */
export const cutShares = { requests: 2 / 3, attempts: 3 / 4, database: 9 / 10 };
const cutAgainMillis = 100;

/**
 * Calls the closers, the last one first, within `millis`. After two thirds of that time requests are cut, and the
 * connections to the database are cut once. That frees whoever waits for an answer that will not come, while work with
 * an outcome to write can connect again, however far away the database is. Webhooks are cut a little later, so that an
 * answer which has arrived is still recorded. From nine tenths on every connection to the database is cut again and
 * again. Whatever does not end even then ends with the process.
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

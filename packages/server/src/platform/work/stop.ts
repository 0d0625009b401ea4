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
  await Promise.race([closeAll(closers, log), late]).finally(() => ended.abort());
}

/** Does `work`, and calls the closers that it has added, whatever becomes of it. */
export async function withClosers<T>(log: Log, work: (closers: Closers) => Promise<T>): Promise<T> {
  const closers: Closers = [];
  let result: T;
  try {
    result = await work(closers);
  } catch (error) {
    // What has failed first is what the caller must hear of; the rest is in the log.
    await closeAll(closers, log).catch(() => {});
    throw error;
  }
  await closeAll(closers, log);
  return result;
}

/** Calls each of the closers, the last one first, also after one that failed. */
export async function closeAll(closers: Closers, log: Log): Promise<void> {
  const failures: unknown[] = [];
  for (const closer of closers.splice(0).reverse()) await noting(failures, log, closer);
  if (failures.length > 0) throw failures[0];
}

/** Stops all of these at the same time, and waits for all of them. */
export async function stopTogether(
  works: readonly { stop(): Promise<unknown> }[],
  log: Log,
): Promise<void> {
  const failures: unknown[] = [];
  await Promise.all(works.map((work) => noting(failures, log, () => work.stop())));
  if (failures.length > 0) throw failures[0];
}

/** Each failure is logged; callers throw the first. */
async function noting(
  failures: unknown[],
  log: Log,
  closer: () => Promise<unknown>,
): Promise<void> {
  try {
    await closer();
  } catch (error) {
    failures.push(error);
    log.error({ err: error }, 'something that was started did not end as it should');
  }
}

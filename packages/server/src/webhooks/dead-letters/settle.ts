import { isDeepStrictEqual } from 'node:util';
import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { unsettledOutcomes } from '../values.ts';
import * as queries from './outcome-queries.ts';

/** What became of the rows of a job is looked at for so long after it was asked for, unless they are forgotten before. */
const mostDays = 30;
const [leastWait, mostWait] = [2, 60];
/** A look that took long is followed by a wait of so many times as long: a job may have a million rows. */
const restsPerLook = 30;

/** Looks at what became of the rows of bulk jobs and replays, until they are settled. Processes share the work. */
export function startSettling(db: Queryable, deliveryDays: number, log: Log): Repeated {
  const look = async (signal: AbortSignal) => {
    while (!signal.aborted && (await lookAtNext(db, deliveryDays)));
  };
  return repeat(look, {
    everyMillis: leastWait * 1000,
    onError: (err) => log.warn({ err }, 'what became of a bulk job could not be looked at'),
  });
}

/** A delivery names the bulk job, and the replay, that queued it last. */
const tables = [
  { jobs: 'dead_letter_jobs', by: 'job_id' },
  { jobs: 'replays', by: 'replay_id' },
] as const;

/**
 * Looks at the rows of the job of each kind that has waited for it the longest; false: there was none. A count along
 * their index costs the hot ways nothing and cannot go wrong, where a counter would change with each attempt.
 */
export async function lookAtNext(db: Queryable, deliveryDays = mostDays): Promise<boolean> {
  const days = Math.min(deliveryDays, mostDays);
  let hasLooked = false;
  for (const of of tables) hasLooked = (await lookAtNextOf(db, of, days)) || hasLooked;
  return hasLooked;
}

async function lookAtNextOf(db: Queryable, of: queries.LookedAt, days: number): Promise<boolean> {
  const job = await queries.takeDueLook(db, of, days);
  if (job === undefined) return false;
  if (job.is_old) return true;
  const startedAt = performance.now();
  const counts = await queries.countOutcomes(db, of, job.id);
  const tookSeconds = (performance.now() - startedAt) / 1000;
  const hasChanged = !isDeepStrictEqual(counts, job.counts ?? null);
  const isSettled = job.has_ended && unsettledOutcomes.every((outcome) => !counts[outcome]);
  // What has not changed for long is seldom looked at.
  const quiet = hasChanged ? 0 : (job.unchanged ?? 0) / 10;
  const wait = Math.max(Math.min(Math.max(quiet, leastWait), mostWait), tookSeconds * restsPerLook);
  const waitSeconds = isSettled ? null : wait;
  await queries.storeOutcome(db, of, job.id, { counts, hasChanged, waitSeconds, isSettled });
  return true;
}

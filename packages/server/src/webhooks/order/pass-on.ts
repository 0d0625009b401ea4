import type { Log } from '../../platform/log.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import type { WakeUp } from '../wake-up.ts';
import { findPassing, lockKeys, type OrderKey, passOnLocked } from './queries.ts';

const mostKeys = 500;
/** What somebody else has locked is met in each round. */
const mostRounds = 20;
/** How often keys are looked for of which nobody told. */
const lookMillis = 1000;

/**
 * Lets the next delivery of each key go whose head has ended, however often it is called. Must be called in a
 * transaction, before that locks counts. Returns the endpoints that have something to send then.
 */
export async function passOn(db: Queryable, keys: readonly OrderKey[]): Promise<string[]> {
  if (keys.length === 0) return [];
  await lockKeys(db, keys);
  return passOnLocked(db, keys);
}

/** Passes on all keys whose head has ended, in whatever way: by a purge, an erasure, or a process that was killed. */
export async function passOnAll(db: Database, wakeUp: WakeUp): Promise<void> {
  for (let round = 0; round < mostRounds; round += 1) {
    const keys = await findPassing(db, mostKeys);
    if (keys.length === 0) return;
    const endpointIds = await db.transaction((connection) => passOn(connection, keys));
    if (endpointIds.length > 0) wakeUp.wake(endpointIds);
    if (keys.length < mostKeys) return;
  }
}

/** Does so until stopped. Several processes may run this at once: they share the work. */
export function startPassingOn(
  db: Database,
  { wakeUp, log }: { wakeUp: WakeUp; log: Log },
): Repeated {
  return repeat(() => passOnAll(db, wakeUp), {
    everyMillis: lookMillis,
    onError: (err) => log.warn({ err }, 'ordered deliveries could not be passed on'),
  });
}

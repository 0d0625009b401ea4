import type { Log } from '../platform/log.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { type Repeated, repeat, rest } from '../platform/work/repeat.ts';
import { findHeld, type IsOnHold } from './dead-letters/purge-rows.ts';
import {
  abandonOverdue,
  type CountDelta,
  findOverdueEndpoints,
  type Patience,
  shiftCounts,
  tryLockEndpoint,
} from './dead-letters/queries.ts';
import { eraseBatch } from './incidents/erase.ts';
import { findSettled } from './incidents/erase-queries.ts';
import * as queries from './queries.ts';

const batchSize = 1000;
const everyMillis = 600_000;
/** The rest between two batches, so that deliveries and pages are served first. */
const restMillis = 20;

/**
 * Abandons what has waited for a disabled endpoint for more than `days` days, and deletes what ended so long ago:
 * deliveries with their attempts, incidents, keys older than 30 days, counts of hours, and what polls have left. Erases
 * incidents whose deliveries all ended more than `incidentDays` days ago (0: never), unless their tenant is under legal
 * hold. Small batches commit by themselves, so no lock is held for long.
 */
export async function forgetHistory(
  db: Database,
  {
    days,
    incidentDays,
    isOnHold = async () => false,
  }: { days: number; incidentDays: number; isOnHold?: IsOnHold },
  signal: AbortSignal,
  size = batchSize,
): Promise<void> {
  await giveUpWaiting(db, { days, signal, batchSize: size });
  if (incidentDays > 0) await eraseSettled(db, { days: incidentDays, isOnHold, signal, size });
  // First, so that whoever misses a delivery that is forgotten meanwhile sees that it may have been there.
  await queries.noteForgetting(db, days);
  for (const forget of [queries.forgetDeliveries, queries.forgetIncidents]) {
    let position: queries.WalkPosition | null = null;
    do {
      position = await forget(db, days, position, size);
      if (position !== null) await rest(restMillis, signal);
    } while (position !== null && !signal.aborted);
  }
  const { forgetKeys, forgetHours, forgetHandedOut } = queries;
  for (const forget of [forgetKeys, forgetHours, forgetHandedOut]) {
    while (!signal.aborted && (await forget(db, size, days)) >= size)
      await rest(restMillis, signal);
  }
}

async function eraseSettled(
  db: Database,
  options: { days: number; isOnHold: IsOnHold; signal: AbortSignal; size: number },
): Promise<void> {
  const { days, isOnHold, signal, size } = options;
  let position: queries.WalkPosition | null = null;
  do {
    const { settled, after } = await findSettled(db, days, position, size);
    position = after;
    const tenants = settled.map(({ tenant }) => tenant);
    const held = await findHeld(db, tenants, isOnHold);
    const ids = settled.filter(({ tenant }) => !held.includes(tenant)).map(({ id }) => id);
    if (ids.length > 0) await db.transaction((connection) => eraseBatch(connection, ids));
    if (position !== null) await rest(restMillis, signal);
  } while (position !== null && !signal.aborted);
}

/**
 * Abandons, in batches, what has waited too long for a disabled endpoint, or for a poll; it can be retried then. The
 * endpoint is locked, so nothing is abandoned that somebody has just let go by enabling it.
 */
export async function giveUpWaiting(
  db: Database,
  options: { days: number; signal: AbortSignal; batchSize: number },
): Promise<void> {
  const { days, signal, batchSize } = options;
  for (const endpointId of await findOverdueEndpoints(db, days)) {
    let count = batchSize;
    while (count === batchSize && !signal.aborted) {
      count = await db.transaction(async (connection) => {
        const locked = await tryLockEndpoint(connection, endpointId, days);
        if (!locked?.patience) return 0;
        const patience = { ...locked.patience, limit: batchSize };
        const deltas = await giveUp(connection, endpointId, patience);
        await shiftCounts(connection, deltas);
        return deltas.filter(({ delta }) => delta === 1).length;
      });
    }
  }
}

/** Abandons some of what an endpoint has waited for too long. Returns how that changes the counts of dead letters. */
export async function giveUp(
  db: Queryable,
  endpointId: string,
  patience: Patience & { limit: number },
): Promise<CountDelta[]> {
  const { failureClass } = patience;
  const rows = await abandonOverdue(db, endpointId, patience);
  return rows.flatMap((row) => [
    ...countedOut(endpointId, row),
    { endpointId, tenant: row.tenant, status: 'abandoned', failureClass, delta: 1 },
  ]);
}

/** How a delivery that is no dead letter any more changes their counts, if it was one that waited for another attempt. */
export function countedOut(
  endpointId: string,
  {
    tenant,
    status,
    failure_class: failureClass,
  }: Awaited<ReturnType<typeof abandonOverdue>>[number],
): CountDelta[] {
  if (status !== 'pending' || failureClass === null) return [];
  return [{ endpointId, tenant, status, failureClass, delta: -1 }];
}

/**
 * Runs `forgetHistory` every ten minutes; processes share the work. Jobs are kept for `historyDays` days, 0: for ever.
 */
export function startForgetting(
  db: Database,
  options: {
    days: number;
    incidentDays: number;
    historyDays: number;
    isOnHold: IsOnHold;
    log: Log;
  },
): Repeated {
  return repeat(
    async (signal) => {
      await forgetHistory(db, options, signal);
      if (options.historyDays > 0) await queries.forgetJobs(db, options.historyDays);
    },
    {
      everyMillis,
      onError: (err) => options.log.warn({ err }, 'old deliveries could not be forgotten'),
    },
  );
}

import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { repeat } from '../../platform/work/repeat.ts';
import { discardOfEndpoint } from '../dead-letters/queries.ts';
import { restAfter, scanMillis } from './pace.ts';
import { findWaitingAmong, findWaitingEndpoints, followDueIndex } from './queries.ts';
import type { Scheduler } from './scheduler.ts';

type Options = {
  readonly lanes: () => ReadonlySet<number>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Is called when a look has ended, and the scheduler knows what it found. */
  readonly onLooked: () => void;
};

export type DueSearch = {
  /** Looks at all lanes, or soon when it rests after the last scan. */
  scan(): void;
  lookAt(endpointIds: readonly string[]): void;
  stop(): Promise<void>;
};

const discardSize = 1000;

/** Looks for endpoints that have deliveries due: in all lanes when the next comes due, and those that were named. */
export function startDueSearch(
  db: Database,
  { lanes: currentLanes, scheduler, log, onLooked }: Options,
): DueSearch {
  const named = new Set<string>();
  const deleted = new Set<string>();
  let scanAt = performance.now() + scanMillis;
  /** Before this time no scan starts, so that scans leave the database most of its time. */
  let restUntil = 0;
  const untilScan = () => Math.max(0, Math.max(scanAt, restUntil) - performance.now());

  // Deliveries of deleted endpoints are discarded beside the claims, since it may wait for locks.
  const discards = repeat(
    async (signal) => {
      for (const id of deleted) {
        if (signal.aborted) return;
        deleted.delete(id);
        await discardOfEndpoint(db, id, discardSize);
      }
    },
    {
      everyMillis: scanMillis,
      onError: (err) => log.warn({ err }, 'rows of a deleted endpoint could not be discarded'),
    },
  );

  /** Looks over all lanes, which also finds the endpoints that were named, or only at those. Returns when to look next. */
  async function look(): Promise<number> {
    const lanes = currentLanes();
    const askedAt = performance.now();
    const isScan = askedAt >= Math.max(scanAt, restUntil);
    const names = [...named];
    named.clear();
    if (isScan) scanAt = askedAt + scanMillis;
    // Endpoints of lanes that were given away have to go first: their facts are no longer kept up to date here.
    scheduler.forget((lane) => lanes.has(lane));
    // Lanes that are gained later are scanned then.
    if (lanes.size === 0 || (!isScan && names.length === 0)) return untilScan();
    // Not in the session of the claims: a scan of many endpoints would hold them up.
    const found = await db.transaction(async (connection) => {
      await followDueIndex(connection, 'transaction');
      return isScan
        ? findWaitingEndpoints(connection, [...lanes])
        : findWaitingAmong(connection, names, [...lanes]);
    });
    const now = performance.now();
    for (const endpoint of found) {
      if (endpoint.isDeleted) deleted.add(endpoint.id);
      if (endpoint.dueMillis > 0) scanAt = Math.min(scanAt, now + endpoint.dueMillis);
      // What is being attempted here would only lead to a claim of nothing, and meanwhile to no head start.
      else if (endpoint.hasFree && !endpoint.isDeleted && endpoint.enabled) {
        if (lanes.has(endpoint.lane)) scheduler.learn(endpoint, askedAt);
      }
    }
    if (deleted.size > 0) discards.poke();
    if (isScan) restUntil = now + restAfter(now - askedAt);
    return untilScan();
  }

  const looks = repeat(() => look().finally(onLooked), {
    everyMillis: scanMillis,
    onError: (err) => log.warn({ err }, 'the drainer could not look for what is due'),
  });
  return {
    scan() {
      scanAt = performance.now();
      looks.poke();
    },
    lookAt(endpointIds) {
      for (const id of endpointIds) named.add(id);
      looks.poke();
    },
    async stop() {
      await Promise.all([looks.stop(), discards.stop()]);
    },
  };
}

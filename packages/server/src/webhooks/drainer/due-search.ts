import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
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

const discardSize = 1000;

/** Looks for endpoints that have deliveries due: in all lanes when the next comes due, and those that were named. */
export class DueSearch {
  readonly #db: Database;
  readonly #options: Options;
  readonly #named = new Set<string>();
  #mustScan = false;
  #isStopping = false;
  #looking: Promise<void> | undefined;
  #discarding: Promise<void> | undefined;
  #scanTimer: NodeJS.Timeout | undefined;
  /** When the next scan is due (monotonic), so that a later one does not replace a sooner one. */
  #scanAt = Number.POSITIVE_INFINITY;
  /** Before this time no scan starts, so that scans leave the database most of its time. */
  #restUntil = 0;

  constructor(db: Database, options: Options) {
    this.#db = db;
    this.#options = options;
    this.#scheduleScan(scanMillis);
  }

  /** Looks at all lanes, or soon when it rests after the last scan. Resolves when the look under way has ended. */
  async scan(): Promise<void> {
    if (performance.now() < this.#restUntil) {
      this.#scheduleScan(0);
      return;
    }
    this.#mustScan = true;
    this.#look();
    await this.#looking;
  }

  lookAt(endpointIds: readonly string[]): void {
    for (const id of endpointIds) this.#named.add(id);
    this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#scanTimer);
    await this.#looking;
    await this.#discarding;
  }

  /** Schedules a scan in so many milliseconds, unless one is scheduled to come sooner. */
  #scheduleScan(millis: number): void {
    const now = performance.now();
    const at = Math.max(now + millis, this.#restUntil);
    if (this.#isStopping || at >= this.#scanAt) return;
    clearTimeout(this.#scanTimer);
    this.#scanAt = at;
    this.#scanTimer = setTimeout(
      () => {
        this.#scanAt = Number.POSITIVE_INFINITY;
        void this.scan();
      },
      Math.ceil(at - now),
    );
  }

  /** Only one look runs at a time; one more afterwards serves all who asked meanwhile. */
  #look(): void {
    if (this.#isStopping) return;
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
      if (this.#mustScan) {
        this.#mustScan = false;
        void this.scan();
      }
      if (this.#named.size > 0) this.#look();
      this.#options.onLooked();
    });
  }

  /** One look: over all lanes, which also finds the endpoints that were named, or only at those. */
  async #lookOnce(): Promise<void> {
    const { scheduler, log } = this.#options;
    const isScan = this.#mustScan;
    const names = [...this.#named];
    this.#mustScan = false;
    this.#named.clear();
    const lanes = this.#options.lanes();
    // Endpoints of lanes that were given away have to go first: their facts are no longer kept up to date here.
    scheduler.forget((lane) => lanes.has(lane));
    let soonest = scanMillis;
    // Lanes that are gained later are scanned then.
    if (lanes.size === 0) return this.#scheduleScan(soonest);
    const askedAt = performance.now();
    try {
      // Not in the session of the claims: a scan of many endpoints would hold them up.
      const found = await this.#db.transaction(async (connection) => {
        await followDueIndex(connection, 'transaction');
        return isScan
          ? findWaitingEndpoints(connection, [...lanes])
          : findWaitingAmong(connection, names, [...lanes]);
      });
      const deleted: string[] = [];
      for (const endpoint of found) {
        if (endpoint.isDeleted) deleted.push(endpoint.id);
        if (endpoint.dueMillis > 0) soonest = Math.min(soonest, endpoint.dueMillis);
        // What is being attempted here would only lead to a claim of nothing, and meanwhile to no head start.
        else if (endpoint.hasFree && !endpoint.isDeleted && endpoint.enabled) {
          if (lanes.has(endpoint.lane)) scheduler.learn(endpoint, askedAt);
        }
      }
      this.#discard(deleted);
    } catch (error) {
      log.warn({ err: error }, 'the drainer could not look for what is due');
    }
    const now = performance.now();
    if (isScan) this.#restUntil = now + restAfter(now - askedAt);
    this.#scheduleScan(soonest);
  }

  /** Discards deliveries of deleted endpoints beside the claims, since it may wait for locks. */
  #discard(deleted: readonly string[]): void {
    if (deleted.length === 0) return;
    this.#discarding ??= this.#discardAll(deleted).finally(() => {
      this.#discarding = undefined;
    });
  }

  async #discardAll(deleted: readonly string[]): Promise<void> {
    try {
      for (const id of deleted) {
        if (this.#isStopping) return;
        await discardOfEndpoint(this.#db, id, discardSize);
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, 'rows of a deleted endpoint could not be discarded');
    }
  }
}

import type { Log } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { rest } from '../../platform/work/repeat.ts';
import type { TenantSlice } from '../slice/slice.ts';
import { listLastStored, type Place } from './queries.ts';
import { readStored, type StoredPage, type StoredSource } from './read-stored.ts';

/** What the tails of this process share, however many they are. */
export type SharedTail = {
  /** Reads on from a place. Those who ask for the same at the same time get one answer. */
  read(slice: TenantSlice, after: Place): Promise<StoredPage>;
  /** Returns when a part of the tenant was stored after this place, or the signal aborts. */
  untilNews(tenant: string, after: Place, signal: AbortSignal): Promise<void>;
};

type Waiting = { readonly tenant: string; readonly storedAt: string; readonly wake: () => void };

/**
 * Makes what tails share; `stopping` ends its looks at the database. While somebody waits for news, there is one every
 * `lookMillis`, whatever the number of those who wait; after a failed one `awayMillis` more.
 */
export function createSharedTail(
  source: StoredSource,
  {
    stopping,
    log,
    lookMillis = 250,
    awayMillis = 2000,
  }: { stopping: AbortSignal; log: Log; lookMillis?: number; awayMillis?: number },
): SharedTail {
  const underWay = new Map<string, Promise<StoredPage>>();
  const waiting = new Set<Waiting>();
  let [isLooking, isAway] = [false, false];

  async function look(): Promise<void> {
    isLooking = true;
    while (waiting.size > 0 && !stopping.aborted) {
      await rest(lookMillis, stopping);
      try {
        await wakeThose(source.db, waiting);
        isAway = false;
      } catch (err) {
        // Whoever waits goes on waiting while the database is away. The log is told once.
        if (!isAway) log.warn({ err }, 'tails could not look for what was stored');
        isAway = true;
        await rest(awayMillis, stopping);
      }
    }
    isLooking = false;
  }

  return {
    read(slice, after) {
      const { tenant, store, from, until, where } = slice;
      const key = JSON.stringify([tenant, store, from, until, where, after]);
      const shared = underWay.get(key);
      if (shared !== undefined) return shared;
      const page = readStored(source, slice, after).finally(() => underWay.delete(key));
      underWay.set(key, page);
      return page;
    },
    untilNews(tenant, [storedAt], signal) {
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(own);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const own = { tenant, storedAt, wake };
        if (signal.aborted) return resolve();
        signal.addEventListener('abort', wake);
        waiting.add(own);
        if (!isLooking) void look();
      });
    },
  };
}

async function wakeThose(db: Queryable, waiting: ReadonlySet<Waiting>): Promise<void> {
  const tenants = [...new Set([...waiting].map(({ tenant }) => tenant))];
  const last = new Map(
    (await listLastStored(db, tenants)).map((row) => [row.tenant, row.stored_at]),
  );
  for (const { tenant, storedAt, wake } of [...waiting]) {
    if ((last.get(tenant) ?? '') > storedAt) wake();
  }
}

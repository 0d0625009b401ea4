import type { Connection, Database, Queryable } from '../../platform/postgres/database.ts';
import { mayTryAgain } from '../../platform/postgres/errors.ts';
import { sumTriple } from '../queries.ts';
import type { Triple } from '../segments/segment.ts';
import { isCounted, type TagWindows, type TenantSlice } from '../slice/slice.ts';
import { readTagWindows } from '../tags/windows.ts';
import * as queries from './pin-queries.ts';

export type PinnedSlice = {
  /** The slice with its tags and the time before which its records were stored: the same records at any time. */
  readonly slice: TenantSlice & { readonly tags: TagWindows; readonly recordedBefore: string };
  /** What the slice holds, from the counters; null where they cannot tell (with a kind, a source or a split). */
  readonly triple: Triple | null;
};

type PinWork<P, T> = {
  /** Runs in the snapshot of the pin, which holds what was recorded before this time and nothing else. */
  readonly read: (snapshot: Queryable, recordedBefore: string) => Promise<P>;
  /** Runs afterwards, in a transaction of its own. */
  readonly write: (connection: Connection, pinned: P) => Promise<T>;
};

/**
 * Pins what a tenant has now: a time and a snapshot of all that was stored before it, which any process finds later in
 * any tier, but for what is erased or deleted since. Writers wait only while it is taken, and nothing is removed until
 * `write` is committed. Both functions may run again.
 */
export async function withPin<P, T>(
  db: Database,
  tenant: string,
  { read, write }: PinWork<P, T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // If anything fails on the connection, it is closed, and its locks end with it.
      return await db.withConnection(async (connection) => {
        await queries.keepRecords(connection, tenant);
        const recordedBefore = await queries.beginSnapshot(connection, tenant);
        const pinned = await read(connection, recordedBefore);
        await queries.endSnapshot(connection);
        const result = await queries.inTransaction(connection, () => write(connection, pinned));
        await queries.letRecordsGo(connection, tenant);
        return result;
      });
    } catch (error) {
      if (!mayTryAgain(error, attempt)) throw error;
    }
  }
}

/** Pins a slice of one tenant as it is in the snapshot of a pin. */
export async function pinSlice(
  snapshot: Queryable,
  slice: TenantSlice,
  recordedBefore: string,
): Promise<PinnedSlice> {
  const tags = slice.tags ?? (await readTagWindows(snapshot, slice.tenant));
  const pinned = { ...slice, tags };
  const triple = isCounted(slice) ? await sumTriple(snapshot, pinned) : null;
  return { slice: { ...pinned, recordedBefore }, triple };
}

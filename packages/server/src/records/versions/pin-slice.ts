import {
  type Connection,
  type Database,
  mayTryAgain,
  type Queryable,
} from '../../platform/postgres/database.ts';
import { sumLeafDays } from '../queries.ts';
import { isCounted, type KeyRange, type Slice, type TagWindows } from '../slice/slice.ts';
import { readTagWindows } from '../tags/read-windows.ts';
import * as queries from './pin-queries.ts';
import { listPinnedParts } from './pin-queries.ts';

export type PinnedSlice = {
  /** With the tags as they are and the time before which its records were stored: read it whenever. */
  readonly slice: Slice & {
    readonly tenant: string;
    readonly tags: TagWindows;
    readonly recordedBefore: string;
  };
  /** What it holds, from the counters; null where they cannot tell (by kind or split). */
  readonly triple: { count: number; bytes: number; digest: string } | null;
};

type PinWork<P, T> = {
  /** In the snapshot of the pin, which has what was recorded before this time, and nothing else. */
  readonly read: (snapshot: Queryable, recordedBefore: string) => Promise<P>;
  /** In a transaction of its own. */
  readonly write: (connection: Connection, pinned: P) => Promise<T>;
};

/**
 * Pins what a tenant has now: a time and a snapshot that fit together. Who reads what was recorded before
 * that time later, in whatever process and from whatever tier, finds what the snapshot had, unless some
 * is erased or deleted. Writers of the tenant wait only while the snapshot is taken, and go on storing
 * while it is read. Nothing of the tenant is erased or deleted until `write` is committed: whoever lets
 * records go finds what was written. Both parts may run again: they change nothing outside the database.
 */
export async function withPin<P, T>(
  db: Database,
  tenant: string,
  { read, write }: PinWork<P, T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // A connection on which anything fails is ended, and its locks with it.
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

/** A slice of one tenant as it is in the snapshot of a pin. */
export async function pinSlice(
  snapshot: Queryable,
  slice: Slice & { readonly tenant: string },
  recordedBefore: string,
): Promise<PinnedSlice> {
  const tags = slice.tags ?? (await readTagWindows(snapshot, slice.tenant));
  const pinned = { ...slice, tags };
  const triple = isCounted(slice) ? await sumLeafDays(snapshot, pinned) : null;
  return { slice: { ...pinned, recordedBefore }, triple };
}

/** Large enough that a part's own costs vanish, small enough that little is done twice after a kill. */
export const usualPart = { rows: 250_000, bytes: 96 * 1024 * 1024 };

/**
 * Cuts a slice into stretches of whole store-days, in key order. Records that arrive later may fall
 * between two of them: cut before they can, or pin the slice, so that none of them is missed.
 */
export function cutParts(
  db: Queryable,
  slice: Slice,
  size: { rows: number; bytes: number } = usualPart,
): Promise<KeyRange[]> {
  return listPinnedParts(db, slice, size);
}

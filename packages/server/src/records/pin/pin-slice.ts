import type { Connection } from '../../platform/postgres/database.ts';
import { sumLeafDays } from '../queries.ts';
import { isCounted, type Slice, type TagWindows } from '../slice.ts';
import { readTagWindows } from '../tags/read-windows.ts';
import { lockWrites } from './queries.ts';

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

/**
 * Pins the records that a slice of one tenant has now: those who read it later, in whatever process and
 * from whatever tier, find the same ones, unless some are erased or deleted. Writers of the tenant wait
 * until the transaction ends, so it should be short; it must be read committed.
 */
export async function pinSlice(
  connection: Connection,
  slice: Slice & { readonly tenant: string },
): Promise<PinnedSlice> {
  const recordedBefore = await lockWrites(connection, slice.tenant);
  const tags = slice.tags ?? (await readTagWindows(connection, slice.tenant));
  const pinned = { ...slice, tags };
  const triple = isCounted(slice) ? await sumLeafDays(connection, pinned) : null;
  return { slice: { ...pinned, recordedBefore }, triple };
}

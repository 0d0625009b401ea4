import type { Actor } from '../../kernel/actor.ts';
import { decodeCursor, encodeCursor } from '../../kernel/cursor.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { RecordCount } from '../count.contract.ts';
import { countSlice } from '../read/sum-segments.ts';
import type { ColdReader, StoreDay } from '../segments/segment.ts';
import {
  isCounted,
  isOutOfReach,
  type KeyRange,
  type Slice,
  type SliceRequest,
  toSlice,
} from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
import { findStretch, type StretchSize } from './pin-queries.ts';
import { withPin } from './pin-slice.ts';

type Tools = {
  readonly db: Database;
  readonly cold: ColdReader;
  readonly cursorKey: Buffer;
  /** Aborts when nobody wants the answer any more. */
  readonly signal?: AbortSignal | undefined;
};

export type CountRequest = SliceRequest & { readonly tenant: string; readonly cursor?: string };

/** One request reads about so much; a where takes some seconds for it. Counters of so many store-days are looked at. */
export const usualStretch: StretchSize = { rows: 250_000, bytes: 96 * 1024 * 1024, days: 10_000 };

/**
 * Counts the records of a slice, at once where the counters tell, and otherwise those of one stretch of it: whoever asks
 * adds up the pages. All pages count what was stored before the first was asked for, without what was erased or deleted
 * since. Throws 400 `request_invalid` or `cursor_invalid`, and 500 `segment_damaged`.
 */
export async function countRecords(
  { db, cold, cursorKey, signal }: Tools,
  actor: Actor,
  { cursor, ...request }: CountRequest,
  size = usualStretch,
): Promise<RecordCount> {
  const slice = { ...toSlice(request, actor, '?'), tenant: request.tenant };
  const scope = { list: 'record-count', filters: { ...request } };
  const key = cursor === undefined ? [] : decodeCursor(cursorKey, scope, cursor).key;
  if (isOutOfReach(slice, actor)) return { ...emptyCount };
  if (isCounted(slice)) {
    const { count, bytes } = await countSlice(db, slice, cold);
    return { ...emptyCount, count, bytes, looked: count };
  }
  const [at = await timeOf(db, slice.tenant), store, day] = key;
  const after = store === undefined || day === undefined ? null : { store, day };
  const pinned: Slice = { ...(await withTags(db, slice)), recordedBefore: at };
  const { to, ...found } = await countStretch({ db, cold, signal }, pinned, { after, size });
  if (to === null) return { ...emptyCount, ...found };
  const next = { direction: 'next', key: [at, to.store, to.day] } as const;
  return { ...found, searched_to: to, next_cursor: encodeCursor(cursorKey, scope, next) };
}

/** Counts the next stretch of a pinned slice. `to` is its last store-day; null when no other follows. */
export async function countStretch(
  { db, cold, signal }: Omit<Tools, 'cursorKey'>,
  slice: Slice,
  from: { after: StoreDay | null; size: StretchSize },
): Promise<{ count: number; bytes: number; looked: number; to: StoreDay | null }> {
  const stretch = await findStretch(db, slice, from);
  if (stretch === undefined) return { count: 0, bytes: 0, looked: 0, to: null };
  const { range, count: looked, isMore } = stretch;
  const { count, bytes } = await countSlice(db, { ...slice, range }, cold, signal);
  return { count, bytes, looked, to: isMore ? range.last : null };
}

/**
 * Counts a slice whole until the signal aborts, a version by its parts. Other slices are counted at once, because parts of
 * many stores would each open most segments. Throws the reason of the signal, 500 `segment_damaged`.
 */
export async function countInParts(
  { db, cold }: Pick<Tools, 'db' | 'cold'>,
  slice: Slice,
  { parts, signal }: { parts?: readonly KeyRange[] | null | undefined; signal: AbortSignal },
): Promise<{ count: number; bytes: number }> {
  if (!parts) return countSlice(db, slice, cold, signal);
  const sum = { count: 0, bytes: 0 };
  for (const range of parts) {
    signal.throwIfAborted();
    const { count, bytes } = await countSlice(db, { ...slice, range }, cold, signal);
    sum.count += count;
    sum.bytes += bytes;
  }
  return sum;
}

const emptyCount = { count: 0, bytes: 0, looked: 0, searched_to: null, next_cursor: null };

/** Returns the time before which everything is stored that there is now. */
function timeOf(db: Database, tenant: string): Promise<string> {
  return withPin(db, tenant, {
    read: async (_snapshot, recordedBefore) => recordedBefore,
    write: async (_connection, recordedBefore) => recordedBefore,
  });
}

import type { Queryable } from '../../platform/postgres/database.ts';
import type { KeyRange, Slice } from '../slice.ts';
import { listParts } from './queries.ts';

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
  return listParts(db, slice, size);
}

import { keyOf, pageBytes, type RecordKey, type RecordRow } from '../queries.ts';

/** The last key of rows that were cut short by their number or their bytes; null when they were not. */
export function cutAt(rows: readonly RecordRow[], limit: number): RecordKey | null {
  const last = rows.at(-1);
  if (last === undefined) return null;
  const isCut = rows.length >= limit || rows.reduce((sum, row) => sum + row.bytes, 0) >= pageBytes;
  return isCut ? keyOf(last) : null;
}

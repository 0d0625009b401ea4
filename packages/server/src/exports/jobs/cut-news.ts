import {
  cutParts,
  joinKeyRanges,
  type KeyRange,
  measureSlice,
  type Slice,
  sumTriples,
  type Triple,
  usualPart,
} from '../../records/index.ts';
import type { WorkContext } from './context.ts';

/**
 * Cuts what was stored between two times into parts. The counters only tell which days may have some of it, so each
 * stretch is measured: those that have none are left out, and neighbours that are small become one.
 */
export async function cutNews(
  { db, source, cut = cutParts }: Pick<WorkContext, 'db' | 'source' | 'cut'>,
  slice: Slice,
  signal: AbortSignal,
): Promise<{ parts: KeyRange[]; sum: Triple }> {
  const parts: { range: KeyRange; triple: Triple }[] = [];
  for (const range of await cut(db, slice)) {
    signal.throwIfAborted();
    const triple = await measureSlice(db, { ...slice, range }, source.cold);
    if (triple.count === 0) continue;
    const before = parts.at(-1);
    const both = before && sumTriples([before.triple, triple]);
    if (before !== undefined && both !== undefined && mayJoin(before.range, range, both)) {
      parts.splice(-1, 1, { range: joinKeyRanges(before.range, range), triple: both });
    } else parts.push({ range, triple });
  }
  return {
    parts: parts.map(({ range }) => range),
    sum: sumTriples(parts.map(({ triple }) => triple)),
  };
}

/** Stretches of one month follow each other in the order of the keys; those of two months do not. */
function mayJoin(one: KeyRange, next: KeyRange, { count, bytes }: Triple): boolean {
  const isOfMonth = one.minDay.slice(0, 7) === next.maxDay.slice(0, 7);
  return isOfMonth && count <= usualPart.rows && bytes <= usualPart.bytes;
}

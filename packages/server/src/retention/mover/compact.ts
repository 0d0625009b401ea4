import { join } from 'node:path';
import {
  listDaysOfSegments,
  mergeSegments,
  replaceSegments,
  sumByDay,
} from '../../records/segments.ts';
import { journalMove, newSegment } from './journal.ts';
import { isSmall, type KindSteps, type Move, type MoverContext } from './move.ts';
import { listOverlaps, listSmallSegments, type SmallSegment } from './queries.ts';
import { fetchSegment } from './verify-copy.ts';

const mebibyte = 1024 * 1024;
/** Segments smaller than this are merged, into segments of at most `mergedBytes`. */
const smallBytes = 32 * mebibyte;
const mergedBytes = 128 * mebibyte;
/** The most bytes of records in one merge. DuckDB has to sort them, mostly on disk. */
const sortedBytes = 4096 * mebibyte;
/** Records that are larger than this on average are sorted in smaller amounts: at most `largeBytes`. */
const largeRecordBytes = 8192;
const largeBytes = 16 * mebibyte;
/** The most segments of one merge. */
const atOnce = 100;
/**
 * So many segments of a level are merged into one of a higher level. The records of a segment take up to eight times as
 * many bytes as those of another one of its level. So however often days of a tenant move, a record is rewritten about
 * once for each level, and a tenant has fewer than eight small segments of each.
 */
const atLeast = 8;
/** Fewer are merged when their neighbour would not fit into the same merge any more. */
const atLeastWhenFull = 4;
/** Fewer still are merged when two of them have records of the same day of a store, as after records came late. */
const atLeastWithOverlap = 2;

/** Journals a merge of small segments. Returns null when there is nothing to merge. */
export async function planCompact(
  context: MoverContext,
  { tenant, runId }: { tenant: string; runId: string | null },
): Promise<Move | null> {
  const small = await listSmallSegments(context.db, tenant, smallBytes);
  if (small.length < 2) return null;
  const ids = small.map(({ id }) => id);
  const group = chooseGroup(small, await listOverlaps(context.db, tenant, ids));
  if (group === null) return null;
  const firstDay = group.map((segment) => segment.first_day).reduce((a, b) => (a < b ? a : b));
  const lastDay = group.map((segment) => segment.last_day).reduce((a, b) => (a > b ? a : b));
  const move = await journalMove(context, {
    tenant,
    runId,
    kind: 'compact',
    firstDay,
    lastDay,
    in: group.map((segment) => ({ ...segment, segment_id: segment.id })),
    out: [newSegment({ tenant, firstDay, lastDay })],
  });
  return { ...move, isSmall: isSmall(group) };
}

type Sized = Pick<SmallSegment, 'id' | 'size_bytes' | 'count' | 'bytes'>;

/**
 * Chooses the first group of segments that is worth a merge; null when there is none. `segments` are in the order of
 * their days, and `overlaps` are pairs of ids that share a day of a store. Segments are merged only with others of their
 * level, the smallest first, so that a large one is not written anew for the few records of a day. Segments of large
 * records are merged only with their like, and only in small groups, because sorting them takes much memory.
 */
export function chooseGroup<S extends Sized>(
  segments: readonly S[],
  overlaps: readonly { a: string; b: string }[],
): S[] | null {
  const usual = segments.filter((segment) => !hasLargeRecords(segment));
  const large = segments.filter(hasLargeRecords);
  const groups = [
    ...byLevel(usual).flatMap((level) => groupsOf(level, sortedBytes)),
    ...byLevel(large).flatMap((level) => groupsOf(level, largeBytes)),
  ];
  const due = groups.find(({ group, isFull }) => {
    if (group.length >= (isFull ? atLeastWhenFull : atLeast)) return true;
    const ids = new Set(group.map(({ id }) => id));
    const hasOverlap = overlaps.some(({ a, b }) => ids.has(a) && ids.has(b));
    return hasOverlap && group.length >= atLeastWithOverlap;
  });
  return due?.group ?? null;
}

/** Divides segments into levels, from the lowest to the highest. */
function byLevel<S extends Sized>(segments: readonly S[]): S[][] {
  const levels: S[][] = [];
  for (const segment of segments) {
    const level = Math.floor(Math.log2(Math.max(1, segment.bytes)) / Math.log2(atLeast));
    levels[level] = [...(levels[level] ?? []), segment];
  }
  return levels.filter((level) => level !== undefined);
}

type Group<S> = { readonly group: S[]; isFull: boolean };

/** Cuts segments into groups of neighbours within the limits of one merge. The last one may not be full yet. */
function groupsOf<S extends Sized>(segments: readonly S[], maxBytes: number): Group<S>[] {
  const groups: Group<S>[] = [];
  let [size, bytes] = [0, 0];
  for (const segment of segments) {
    const open = groups.at(-1);
    size += segment.size_bytes;
    bytes += segment.bytes;
    const fits = size <= mergedBytes && bytes <= maxBytes;
    if (open !== undefined && open.group.length < atOnce && fits) {
      open.group.push(segment);
      continue;
    }
    if (open !== undefined) open.isFull = true;
    groups.push({ group: [segment], isFull: false });
    size = segment.size_bytes;
    bytes = segment.bytes;
  }
  return groups;
}

function hasLargeRecords({ count, bytes }: Sized): boolean {
  return bytes > count * largeRecordBytes;
}

/** A merge: several small segments become one. No record leaves. */
export const compactKind: KindSteps = {
  async copy(context, work) {
    const { move, out, dir, signal } = work;
    const [segment] = out;
    if (segment === undefined) throw new Error(`the move ${move.id} has no segment to write`);
    const ids = work.in.map(({ segment_id }) => segment_id);
    const days = [...sumByDay(await listDaysOfSegments(context.db, move.tenant, ids)).values()];
    const paths: string[] = [];
    for (const source of work.in) paths.push(await fetchSegment(context, source, { dir, signal }));
    const path = join(dir, `${segment.segment_id}.parquet`);
    await mergeSegments(context.duckdb, { paths, days, target: path, signal });
    return { files: [{ segment_id: segment.segment_id, path }], days };
  },

  switch(connection, { work, segments }) {
    const remove = work.in.map(({ segment_id }) => segment_id);
    return replaceSegments(connection, { tenant: work.move.tenant, add: segments, remove });
  },
};

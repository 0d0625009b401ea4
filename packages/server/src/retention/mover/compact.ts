import { join } from 'node:path';
import { mergeSegments, replaceSegments, sumByDay } from '../../records/segments.ts';
import type { KindSteps, Move, MoverContext } from './move.ts';
import { journalMove, newSegment } from './plan-move.ts';
import {
  listDaysOfSegments,
  listOverlaps,
  listSmallSegments,
  type SmallSegment,
} from './queries.ts';
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
/** Fewer segments are not merged, unless two of them have records of the same day of a store. */
const atLeast = 4;

/** Journals a merge of small segments whose days are neighbours. Returns null when there is nothing to merge. */
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
  return journalMove(context, {
    ...{ tenant, runId, kind: 'compact', firstDay, lastDay },
    in: group.map(({ id, object_key, size_bytes, sha256 }) => ({
      segment_id: id,
      object_key,
      size_bytes,
      sha256,
    })),
    out: [newSegment({ tenant, firstDay, lastDay })],
  });
}

type Sized = Pick<SmallSegment, 'id' | 'size_bytes' | 'count' | 'bytes'>;

/**
 * Chooses the first group of neighbours that is worth a merge; null when there is none. `segments` are in the order of
 * their days, and `overlaps` are pairs of ids that share a day of a store. Segments of large records are merged only
 * with their like, and only in small groups, because sorting them takes much memory.
 */
export function chooseGroup<S extends Sized>(
  segments: readonly S[],
  overlaps: readonly { a: string; b: string }[],
): S[] | null {
  const usual = segments.filter((segment) => !hasLargeRecords(segment));
  const large = segments.filter(hasLargeRecords);
  for (const group of [...groupsOf(usual, sortedBytes), ...groupsOf(large, largeBytes)]) {
    const ids = new Set(group.map(({ id }) => id));
    const hasOverlap = overlaps.some(({ a, b }) => ids.has(a) && ids.has(b));
    if (group.length >= atLeast || (group.length >= 2 && hasOverlap)) return group;
  }
  return null;
}

/** Cuts segments into groups of neighbours within the limits of one merge. */
function groupsOf<S extends Sized>(segments: readonly S[], maxBytes: number): S[][] {
  const groups: S[][] = [];
  let [size, bytes] = [0, 0];
  for (const segment of segments) {
    const open = groups.at(-1);
    size += segment.size_bytes;
    bytes += segment.bytes;
    if (open !== undefined && open.length < atOnce && size <= mergedBytes && bytes <= maxBytes) {
      open.push(segment);
    } else {
      groups.push([segment]);
      size = segment.size_bytes;
      bytes = segment.bytes;
    }
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

  refuse: async () => null,
};

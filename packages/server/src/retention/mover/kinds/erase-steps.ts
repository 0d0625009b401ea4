import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type DayTriple,
  dayKey,
  replaceSegments,
  subtractTriples,
  sumByDay,
  sumTriples,
  writeSegmentFromSegments,
} from '../../../records/index.ts';
import { findHot } from '../../erase/find-matches.ts';
import { keepFilter, matchFile } from '../../erase/match-file.ts';
import { removeHotMatches } from '../../erase/remove-hot.ts';
import type { EraseScope } from '../../erase/scope.ts';
import type { MoverContext } from '../context.ts';
import { fetchSegment } from '../fetch-segment.ts';
import type { Copied, KindSteps, MoveWork } from '../kinds.ts';
import type { Move, MoveSegment } from '../move.ts';
import { listDaysOfSegments } from '../queries.ts';

/**
 * Steps of a move that lets records go for good: those of its segments that stay are written anew, one new
 * segment for each that has some, and hot ones are deleted in the switch.
 */
export function eraseSteps(
  scopeOf: (move: Move) => EraseScope,
): Pick<KindSteps, 'copy' | 'switch'> {
  return {
    async copy(context, work) {
      const scope = scopeOf(work.move);
      const files: { segment_id: string; path: string }[] = [];
      const days: DayTriple[] = [];
      // Any segment may go into any new one: both lists are in the order of their ids.
      for (const [index, segment] of work.in.entries()) {
        const target = work.out[index];
        if (target === undefined) throw new Error(`the move ${work.move.id} has too few segments`);
        const kept = await copyKept(context, work, { scope, segment, target });
        files.push(...kept.files);
        days.push(...kept.days);
      }
      return { files, days: [...sumByDay(days).values()] };
    },

    async switch(connection, { work, segments }) {
      const scope = scopeOf(work.move);
      return replaceSegments(connection, {
        tenant: work.move.tenant,
        add: segments,
        remove: work.in.map(({ segment_id }) => segment_id),
        hotDays: await findHot(connection, scope, { signal: work.signal }),
        removeHot: (locked) => removeHotMatches(connection, scope, locked),
        isErasing: true,
      });
    },
  };
}

/**
 * What stays of a segment as a file. What it must hold is what the catalogue says of the segment less what
 * is found to go, not what the file turns out to hold: a copy that loses a record is found out.
 */
async function copyKept(
  context: MoverContext,
  { move, dir, signal }: MoveWork,
  { scope, segment, target }: { scope: EraseScope; segment: MoveSegment; target: MoveSegment },
): Promise<Copied> {
  const { db, duckdb } = context;
  const source = await fetchSegment(context, segment, { dir, signal });
  const before = await listDaysOfSegments(db, move.tenant, [segment.segment_id]);
  const going = sumByDay((await matchFile(duckdb, { path: source, scope, signal })).days);
  const days = before
    .map((day) => {
      const gone = going.get(dayKey(day));
      return gone === undefined ? day : { ...day, ...subtractTriples(day, gone) };
    })
    .filter(({ count }) => count !== 0);
  if (days.length === 0) return { files: [], days };
  const path = join(dir, `${target.segment_id}.parquet`);
  const { count, bytes } = sumTriples(days);
  const rowCount = sumTriples(before).count;
  const filter = await keepFilter(duckdb, { path: source, rowCount, scope, signal });
  await writeSegmentFromSegments(duckdb, {
    paths: [source],
    filter,
    target: path,
    count,
    bytes,
    signal,
  });
  // Fetched copies of all segments at once could fill the disk.
  await rm(source, { force: true });
  return { files: [{ segment_id: target.segment_id, path }], days };
}

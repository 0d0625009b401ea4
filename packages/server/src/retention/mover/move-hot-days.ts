import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  readSegmentKeys,
  removeHotRows,
  replaceSegments,
  splitSpool,
  spoolHotRows,
  sumTriples,
  writeSegmentFromSpool,
} from '../../records/segments.ts';
import { MoveFault } from './fail.ts';
import { firstDays, journalMove, lockOwn, newSegment } from './journal.ts';
import {
  isSmall,
  type KindSteps,
  type Move,
  type MoverContext,
  type MoveSegment,
  type MoveWork,
  type VerifiedSegment,
} from './move.ts';
import { insertMoveSegment, listHotDays } from './queries.ts';

/** What one move takes at most, in records and in their bytes, unless a single day has more. */
export const mostMoved = { count: 1_000_000, bytes: 512 * 1024 * 1024 };

type DueMove = {
  readonly tenant: string;
  readonly runId: string | null;
  /** Only days after this one are moved; null begins with the first day. */
  readonly after: string | null;
  readonly lastDay: string;
};

/** Journals a move of the tenant's oldest hot days; null when there are none. */
export async function planMove(context: MoverContext, due: DueMove): Promise<Move | null> {
  const days = firstDays(await listHotDays(context.db, due.tenant, due), mostMoved);
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return null;
  const { tenant, runId } = due;
  const range = { firstDay: first.day, lastDay: last.day };
  const move = await journalMove(context, {
    tenant,
    runId,
    kind: 'move',
    ...range,
    in: [],
    out: [newSegment({ tenant, ...range })],
  });
  return { ...move, isSmall: isSmall(days) };
}

/** A move: the hot records of whole days become one segment, or several when records are very large. */
export const moveKind: KindSteps = {
  async copy(context, work) {
    const { db, duckdb } = context;
    const { move, dir, signal, rest } = work;
    const { tenant, first_day: firstDay, last_day: lastDay } = move;
    const spoolPath = join(dir, 'hot-rows.csv');
    const days = await spoolHotRows(db, {
      tenant,
      firstDay,
      lastDay,
      path: spoolPath,
      signal,
      rest,
    });
    if (days.length === 0) return { files: [], days };
    const parts = await splitSpool(spoolPath, { signal, rest });
    const segments = await nameSegments(context, work, parts.length);
    const files: { segment_id: string; path: string }[] = [];
    for (const [index, part] of parts.entries()) {
      const segment = segments[index];
      if (segment === undefined) throw new Error(`the move ${move.id} has too few segments`);
      const target = join(dir, `${segment.segment_id}.parquet`);
      const { count, bytes } = parts.length === 1 ? sumTriples(days) : part;
      const source = { tenant, spoolPath: part.path, target, count, bytes, signal };
      await writeSegmentFromSpool(duckdb, source);
      await rm(part.path);
      files.push({ segment_id: segment.segment_id, path: target });
    }
    return { files, days };
  },

  async switch(connection, { context, work, segments }) {
    const { tenant } = work.move;
    return replaceSegments(connection, {
      tenant,
      add: segments,
      remove: [],
      async removeHot(locked) {
        await removeHotRows(connection, locked, {
          tenant,
          copied: segments.flatMap(({ days }) => days),
          readKeys: (day) => readKeys(segments, day),
        });
        return [];
      },
    });

    async function* readKeys(
      from: readonly VerifiedSegment[],
      { store, day }: { store: string; day: string },
    ) {
      for (const { path, days } of from) {
        const rows = days.find((row) => row.store === store && row.day === day);
        if (rows === undefined) continue;
        yield* readSegmentKeys(context.duckdb, { path, ...rows, signal: work.signal });
      }
    }
  },

  refuse(_connection, { last_day }, { lastMoveDay }) {
    if (last_day <= lastMoveDay) return;
    const message = `The policy keeps days after ${lastMoveDay} hot by now. Nothing was moved.`;
    throw new MoveFault('not_due', message);
  },
};

/** Names the segments that the move needs before any is written, so that the journal knows all that may exist. */
async function nameSegments(
  context: MoverContext,
  { move, out }: MoveWork,
  count: number,
): Promise<readonly MoveSegment[]> {
  const { tenant, first_day: firstDay, last_day: lastDay } = move;
  const missing = Math.max(0, count - out.length);
  const more = Array.from({ length: missing }, () => newSegment({ tenant, firstDay, lastDay }));
  if (missing === 0) return out;
  await context.db.transaction(async (connection) => {
    await lockOwn(connection, context, move);
    for (const segment of more) {
      await insertMoveSegment(connection, move, { ...segment, role: 'out' });
    }
  });
  return [...out, ...more];
}

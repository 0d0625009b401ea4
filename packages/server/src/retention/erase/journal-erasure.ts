import { newId } from '../../kernel/ids.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import { segmentKey } from '../../records/index.ts';
import type { MoverContext } from '../mover/context.ts';
import type { Move, MoveSegment } from '../mover/move.ts';
import { insertMove, insertMoveSegment } from '../mover/queries.ts';
import type { Matches } from './find-matches.ts';

export type Erasure = {
  readonly tenant: string;
  readonly runId: string | null;
  readonly kind: 'delete' | 'erase';
  readonly firstDay: string;
  readonly lastDay: string;
  readonly request?: unknown;
  readonly matches: Matches;
  /** Runs in the transaction that journals the move. */
  readonly note?: (connection: Connection, move: Move) => Promise<void>;
};

/** Journals a move that lets records go: from here on it happens, if need be after a restart. */
export async function journalErasure(context: MoverContext, erasure: Erasure): Promise<Move> {
  const { tenant, matches, note } = erasure;
  const touched = matches.cold
    .map(({ segment: { id: segment_id, ...segment } }) => ({ segment_id, ...segment }))
    .sort((a, b) => (a.segment_id < b.segment_id ? -1 : 1));
  const ids = touched.map(() => newId('seg')).sort();
  const renewed = touched.map(({ first_day: firstDay, last_day: lastDay }, index): MoveSegment => {
    const id = ids[index] ?? '';
    const object_key = segmentKey({ tenant, firstDay, lastDay, id });
    return { segment_id: id, object_key, size_bytes: null, sha256: null };
  });
  const move = await context.db.transaction(async (connection) => {
    const row = await insertMove(connection, {
      ...erasure,
      id: newId('mov'),
      runner: context.runner,
    });
    if (row === undefined) throw new Error('a move was not journalled');
    for (const segment of touched) {
      await insertMoveSegment(connection, row, { ...segment, role: 'in' });
    }
    for (const segment of renewed) {
      await insertMoveSegment(connection, row, { ...segment, role: 'out' });
    }
    await note?.(connection, row);
    return row;
  });
  await context.onArrow?.('planned', 'after', move);
  return move;
}

import type { MoverContext } from './context.ts';
import type { Move } from './move.ts';
import { newSegment } from './plan-move.ts';
import { deleteOutSegments, insertMoveSegment, queueRemovals, takeOver } from './queries.ts';
import { type MoveResult, runMove } from './run-move.ts';

/** Finishes what was left unfinished of a tenant, whoever began it. The caller holds the tenant's lock. */
export async function resumeMoves(
  context: MoverContext,
  tenant: string,
  signal: AbortSignal,
): Promise<MoveResult[]> {
  const results: MoveResult[] = [];
  for (const move of await takeOver(context.db, tenant, context.runner)) {
    if (move.state === 'planned') await renewObjects(context, move);
    results.push(await runMove(context, move, signal));
  }
  return results;
}

/**
 * Gives a move that begins anew other objects: the process that began it may still be alive, and its late
 * write must not replace an object that was verified meanwhile.
 */
async function renewObjects(context: MoverContext, move: Move): Promise<void> {
  const { db, graceSeconds } = context;
  await db.transaction(async (connection) => {
    const keys = await deleteOutSegments(connection, move);
    await queueRemovals(connection, move, { keys, graceSeconds });
    for (const _ of keys) {
      const range = { tenant: move.tenant, firstDay: move.first_day, lastDay: move.last_day };
      await insertMoveSegment(connection, move, { ...newSegment(range), role: 'out' });
    }
  });
}

import { AppError } from '../../kernel/errors.ts';
import type { MoverContext } from './context.ts';
import type { MoveWork } from './kinds.ts';
import type { MoveSegment } from './move.ts';
import { newSegment } from './plan-move.ts';
import { insertMoveSegment, lockMove } from './queries.ts';

/** Names as many segments as a move turns out to need, before anything of them is in the store. */
export async function nameSegments(
  { db, runner }: MoverContext,
  { move, out }: MoveWork,
  count: number,
): Promise<readonly MoveSegment[]> {
  const { tenant, id, first_day: firstDay, last_day: lastDay } = move;
  const missing = Math.max(0, count - out.length);
  const more = Array.from({ length: missing }, () => newSegment({ tenant, firstDay, lastDay }));
  if (missing === 0) return out;
  await db.transaction(async (connection) => {
    if (!(await lockMove(connection, move, { runner, state: move.state }))) {
      throw new AppError('tenant_busy', {
        detail: `Another process took over the move ${id}. It goes on there.`,
      });
    }
    for (const segment of more) {
      await insertMoveSegment(connection, move, { ...segment, role: 'out' });
    }
  });
  return [...out, ...more];
}

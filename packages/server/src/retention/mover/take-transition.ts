import { AppError } from '../../kernel/errors.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import type { MoveState } from '../values.ts';
import type { Move, MoverContext } from './move.ts';
import { lockMove } from './queries.ts';

/**
 * Takes a move to its next state in one transaction. It holds only for the runner and the state that the move had, so
 * that a process which was thought dead changes nothing after another one took over. Throws 409 `tenant_busy` then.
 */
export async function takeTransition(
  context: MoverContext,
  move: Move,
  transition: { to: MoveState; change: (connection: Connection) => Promise<void> },
): Promise<Move> {
  const { db, runner, onTransition } = context;
  const next = { ...move, state: transition.to };
  await db.transaction(async (connection) => {
    if (!(await lockMove(connection, move, { runner, state: move.state }))) {
      throw new AppError('tenant_busy', {
        detail: `Another process took over the move ${move.id}. It goes on there.`,
      });
    }
    await transition.change(connection);
    await onTransition?.(transition.to, 'before', move);
  });
  await onTransition?.(transition.to, 'after', next);
  return next;
}

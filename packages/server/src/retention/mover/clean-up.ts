import type { MoverContext } from './context.ts';
import type { MoveWork } from './kinds.ts';
import { endSwitched } from './queries.ts';
import { stepsOf } from './steps.ts';

/**
 * switched → removed: at once when nothing waits for its removal, else `removeObjects` ends the move when
 * the grace is over.
 */
export async function cleanUp(context: MoverContext, work: MoveWork): Promise<MoveWork> {
  const { move } = work;
  const { db, onArrow } = context;
  await stepsOf(move).cleanUp?.(context, work);
  await onArrow?.('removed', 'before', move);
  const ended = await endSwitched(db, move.tenant, [move.id]);
  if (ended.length === 0) return work;
  const next = { ...move, state: 'removed' as const };
  await onArrow?.('removed', 'after', next);
  return { ...work, move: next };
}

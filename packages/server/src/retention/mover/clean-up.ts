import { sqlState } from '../../platform/postgres/database.ts';
import type { MoverContext } from './context.ts';
import type { MoveWork } from './kinds.ts';
import { endSwitched, listDrainedPartitions, truncateIfVacant, vacuum } from './queries.ts';

/**
 * switched → removed: at once when nothing waits for its removal, else `removeObjects` ends the move when
 * the grace is over. Gives the space of drained months back.
 */
export async function cleanUp(context: MoverContext, work: MoveWork): Promise<MoveWork> {
  const { move } = work;
  const { db, onArrow } = context;
  if (move.kind !== 'compact') await freePartitions(context, move.last_day);
  await onArrow?.('removed', 'before', move);
  const ended = await endSwitched(db, move.tenant, [move.id]);
  if (ended.length === 0) return work;
  const next = { ...move, state: 'removed' as const };
  await onArrow?.('removed', 'after', next);
  return { ...work, move: next };
}

/** Canceled (it took too long), lock not available. */
const passing = new Set(['57014', '55P03', '40P01']);

/** What cannot be freed now is freed after a later move. */
async function freePartitions(context: MoverContext, lastDay: string): Promise<void> {
  const { db, log } = context;
  for (const partition of await listDrainedPartitions(db, lastDay)) {
    try {
      await vacuum(db, partition);
      const isFreed = await db.withConnection((connection) =>
        truncateIfVacant(connection, partition),
      );
      log.debug({ partition, isFreed }, 'looked at a month without hot records');
    } catch (error) {
      if (!passing.has(sqlState(error) ?? '')) throw error;
      log.debug({ partition, err: error }, 'a month without hot records is in use');
    }
  }
}

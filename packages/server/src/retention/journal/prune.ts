import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { deleteOldMoves, deleteOldRuns, deleteOldVerifications } from './queries.ts';

const batchRows = 1000;

/**
 * Forgets moves, then runs, and verifications that ended more than `days` ago, in small batches. The last of each
 * stays, of moves each tenant's: they tell how things stand. So does a move whose objects wait for their removal,
 * and a run that has moves.
 */
export async function pruneHistory(
  db: Database,
  { days, log, signal }: { days: number; log: Log; signal: AbortSignal },
): Promise<void> {
  const inBatches = async (work: (batch: { days: number; limit: number }) => Promise<number>) => {
    for (let sum = 0; ; ) {
      signal.throwIfAborted();
      const count = await work({ days, limit: batchRows });
      sum += count;
      if (count < batchRows) return sum;
    }
  };
  const moves = await inBatches((batch) => deleteOldMoves(db, batch));
  const runs = await inBatches((batch) => deleteOldRuns(db, batch));
  const verifications = await inBatches((batch) => deleteOldVerifications(db, batch));
  if (moves + runs + verifications > 0) {
    log.info({ days, moves, runs, verifications }, 'old history of retention was pruned');
  }
}

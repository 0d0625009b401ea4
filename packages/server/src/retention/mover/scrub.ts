import { setTimeout } from 'node:timers/promises';
import type { Session } from '../../platform/postgres/database.ts';
import { inSession, isPassing, rewriteBytes, rewriteSoon } from '../give-back.ts';
import { checkpoint, countRows, listMonthSpaces, sizeOf, vacuum } from '../queries.ts';
import { findErasureState, setScrubbed } from './erase-queries.ts';
import type { Move, MoverContext } from './move.ts';

const usualSnapshotMillis = 5_000;
const pauseMillis = 250;

/**
 * Takes the rows that an erasure deleted out of PostgreSQL's files. A vacuum alone is not enough: it frees the place of
 * a row, but mostly leaves its bytes there until another row needs the place. So the tables are written anew.
 *
 * A table that is too large for that is left alone, since it could keep the tenant locked for hours; the receipt says
 * so. What cannot be done now, because of a snapshot or a lock, stays due, and the next run of retention goes on with
 * it. The erasure has happened by now, so no error in here may make it fail.
 */
export async function scrub(context: MoverContext, move: Move, signal: AbortSignal): Promise<void> {
  const { db, log, snapshotMillis = usualSnapshotMillis } = context;
  try {
    const { scrub_due: tables, scrubbed: before } = (await findErasureState(db, move)) ?? {};
    if (!tables?.length) return;
    await inSession(db, signal, async (session) => {
      const outcomes = await scrubTables(session, tables, snapshotMillis);
      const hasCheckpoint = await checkpoint(session);
      const of = (outcome: Outcome) => tables.filter((_, index) => outcomes[index] === outcome);
      const scrubbed = { kept: [...(before?.kept ?? []), ...of('kept')], hasCheckpoint };
      await setScrubbed(db, move, { due: of('due'), scrubbed });
    });
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error, move: move.id }, 'erased rows stay in pages until the next run');
  }
}

/** gone: the table has no deleted rows left. kept: it is too large. due: the next run tries again. */
type Outcome = 'gone' | 'kept' | 'due';

async function scrubTables(
  session: Session,
  tables: readonly string[],
  snapshotMillis: number,
): Promise<Outcome[]> {
  const months = await listMonthSpaces(session);
  const outcomes: Outcome[] = [];
  let leftMillis = snapshotMillis;
  const scrubTable = async (table: string): Promise<Outcome> => {
    const liveBytes =
      months.find(({ name }) => name === table)?.live_bytes ?? (await sizeOf(session, table));
    if (liveBytes > rewriteBytes) return 'kept';
    for (;;) {
      await vacuum(session, table, { isWhole: true });
      if ((await countRows(session, table)).held === 0) break;
      if (leftMillis <= 0) return 'due';
      leftMillis -= pauseMillis;
      await setTimeout(pauseMillis, undefined, { signal: session.lost });
    }
    await rewriteSoon(session, table);
    return 'gone';
  };
  for (const table of tables) {
    const outcome = await scrubTable(table).catch((error: unknown): Outcome => {
      if (isPassing(error)) return 'due';
      throw error;
    });
    outcomes.push(outcome);
  }
  return outcomes;
}

import { setTimeout } from 'node:timers/promises';
import type { Session } from '../../platform/postgres/database.ts';
import type { EraseReceipt } from '../contract.ts';
import { inSession, isPassing, rewriteBytes, rewriteSoon } from '../give-back.ts';
import { checkpoint, countRows, listMonthSpaces, sizeOf, vacuum } from '../queries.ts';
import {
  findErasureState,
  type Scrubbed,
  setRemains,
  setScrubbed,
  textTables,
} from './erase-queries.ts';
import type { Move, MoverContext } from './move.ts';
import { pagesLeft } from './receipt.ts';

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
  const { db, log } = context;
  try {
    const { scrub_due: tables, scrubbed: before } = (await findErasureState(db, move)) ?? {};
    if (!tables?.length) return;
    const { due, scrubbed } = await scrubTables(context, tables, signal);
    const kept = [...(before?.kept ?? []), ...scrubbed.kept];
    await setScrubbed(db, move, { due, scrubbed: { ...scrubbed, kept } });
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error, move: move.id }, 'erased rows stay in pages until the next run');
  }
}

const textsDue = Object.keys(textTables);
const untilErased = 'Erase once more to remove them.';

/** What the receipt of an erasure without a move says of pages before `scrubTexts`. */
export const textsLeft = pagesLeft({ scrub_due: textsDue, scrubbed: null }, untilErased);

/** Does as `scrub` does after an erasure that found no record, and so has no move that a later run could go on with. */
export async function scrubTexts(
  context: MoverContext,
  receipt: EraseReceipt,
  signal: AbortSignal,
): Promise<EraseReceipt> {
  try {
    const { due, scrubbed } = await scrubTables(context, textsDue, signal);
    const left = pagesLeft({ scrub_due: due, scrubbed }, untilErased);
    const others = receipt.remains.filter(({ note }) => note !== textsLeft[0]?.note);
    const now = { ...receipt, remains: [...left, ...others] };
    await setRemains(context.db, now);
    return now;
  } catch (error) {
    // The receipt is stored, and says so already: the end of the process is no fault of the erasure either.
    context.log.warn({ err: error, erasure: receipt.id }, 'erased texts may stay in pages');
    return receipt;
  }
}

/** gone: the table has no deleted rows left. kept: it is too large. due: the next run tries again. */
type Outcome = 'gone' | 'kept' | 'due';

async function scrubTables(
  { db, snapshotMillis = usualSnapshotMillis }: MoverContext,
  tables: readonly string[],
  signal: AbortSignal,
): Promise<{ due: string[]; scrubbed: Scrubbed }> {
  return inSession(db, signal, async (session) => {
    const outcomes = await outcomesOf(session, tables, snapshotMillis);
    const of = (outcome: Outcome) => tables.filter((_, index) => outcomes[index] === outcome);
    const hasCheckpoint = await checkpoint(session);
    return { due: of('due'), scrubbed: { kept: of('kept'), hasCheckpoint } };
  });
}

async function outcomesOf(
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

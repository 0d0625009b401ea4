import { setTimeout } from 'node:timers/promises';
import type { Log } from '../platform/log.ts';
import { longestTimerMillis } from '../platform/postgres/client.ts';
import type { Database, Queryable, Session } from '../platform/postgres/database.ts';
import { sqlState } from '../platform/postgres/errors.ts';
import type { HotSpace } from './contract.ts';
import type { MonthSpace } from './queries.ts';
import * as queries from './queries.ts';

/** Fewer dead bytes than this are not worth a lock. */
const worthBytes = 2 ** 17;
/** A month whose live records take at most this much is written anew at once: 0.7 s on two cores. */
export const rewriteBytes = 32 * 2 ** 20;
const workMillis = 3000;
const tries = 5;
const pauseMillis = 200;

/**
 * Whether somebody else uses the table first: the statement took too long (57014), no lock (55P03), a deadlock (40P01).
 */
export function isPassing(error: unknown): boolean {
  return ['57014', '55P03', '40P01'].includes(sqlState(error) ?? '');
}

/**
 * Gives the space of hot records that have gone back to the disk. Returns how many bytes that were.
 *
 * A month is vacuumed, which frees the end of its files and blocks nobody, and is written anew if few records keep more
 * space than that. What a snapshot or a lock holds now is left to a later run.
 */
export async function giveBackSpace(
  db: Database,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<number> {
  const before = await queries.listMonthSpaces(db);
  const isWorthIt = (month: MonthSpace) => month.dead_bytes >= worthBytes;
  if (!before.some(isWorthIt)) return 0;
  await inSession(db, signal, async (session) => {
    for (const month of before.filter(isWorthIt)) {
      signal.throwIfAborted();
      await giveBackMonth(session, month.name, log);
    }
  });
  const after = await queries.listMonthSpaces(db);
  const freedBytes = Math.max(0, sumOf(before, 'size_bytes') - sumOf(after, 'size_bytes'));
  log.info({ freedBytes, deadBytes: sumOf(after, 'dead_bytes') }, 'hot space was given back');
  return freedBytes;
}

/** How much hot records take on the disk, and how much of that is dead. */
export async function measureHotSpace(db: Queryable): Promise<HotSpace> {
  const months = await queries.listMonthSpaces(db);
  return {
    size_bytes: sumOf(months, 'size_bytes'),
    dead_bytes: sumOf(months, 'dead_bytes'),
    snapshot_since: await queries.findOldSnapshot(db),
  };
}

async function giveBackMonth(session: Session, month: string, log: Log): Promise<void> {
  try {
    await queries.vacuum(session, month);
    const { held, live } = await queries.countRows(session, month);
    const space = (await queries.listMonthSpaces(session)).find(({ name }) => name === month);
    if (space === undefined || !isMostlyDead(space) || space.live_bytes > rewriteBytes) return;
    // Rows that a snapshot still sees would be written anew, too.
    if (held > 1000 + live) return log.info({ month, held }, 'a snapshot holds dead hot records');
    await rewriteSoon(session, month);
  } catch (error) {
    if (!isPassing(error)) throw error;
    log.info({ month, err: error }, 'dead hot records stay for now: their month is in use');
  }
}

/** Of a month that was vacuumed. An index keeps its pages, of which those of an empty one are dead too. */
function isMostlyDead({ dead_bytes, live_bytes }: MonthSpace): boolean {
  return dead_bytes >= Math.max(worthBytes / 2, live_bytes);
}

/** Writes a table anew, in several tries. Between two tries, whoever waits behind the lock gets through. */
export async function rewriteSoon(session: Session, table: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await queries.rewrite(session, table, { workMillis });
    } catch (error) {
      if (attempt === tries || sqlState(error) !== '55P03') throw error;
      await setTimeout(pauseMillis, undefined, { signal: session.lost });
    }
  }
}

/** Works on a connection of its own, which an abort closes, without a time limit: a vacuum may take very long. */
export async function inSession<T>(
  db: Database,
  signal: AbortSignal,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await db.openSession({ answerMillis: longestTimerMillis });
  const end = () => void session.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await work(session);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
    await session.close();
  }
}

function sumOf(months: readonly MonthSpace[], what: 'size_bytes' | 'dead_bytes'): number {
  return months.reduce((sum, month) => sum + month[what], 0);
}

import { isFenced } from '../../platform/objects/fence.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { MoverContext } from './context.ts';
import type { Move } from './move.ts';
import { newSegment } from './plan-move.ts';
import {
  deleteOutSegments,
  insertMoveSegment,
  listMoveSegments,
  queueRemovals,
  takeOver,
  takePlanned,
} from './queries.ts';
import { type MoveResult, runMove } from './run-move.ts';

/**
 * Finishes what was left unfinished of a tenant, whoever began it. The caller holds the tenant's lock. While another
 * database has the store, what needs objects waits: nothing is written there, and nothing of it can go live.
 */
export async function resumeMoves(
  context: MoverContext,
  tenant: string,
  signal: AbortSignal,
): Promise<MoveResult[]> {
  const results: MoveResult[] = [];
  let mayWrite: boolean | null = null;
  for (const move of await takeOver(context.db, tenant, context.runner)) {
    if (await needsStore(context, move)) {
      mayWrite ??= await askFence(context, signal);
      if (!mayWrite) continue;
    }
    if (move.state === 'planned') await renewObjects(context, move);
    results.push(await runMove(context, move, signal));
  }
  return results;
}

/** Once it is switched only PostgreSQL is left to clean up. */
async function needsStore({ db }: MoverContext, move: Move): Promise<boolean> {
  if (move.state === 'switched') return false;
  const [reads, writes] = [
    await listMoveSegments(db, move, 'in'),
    await listMoveSegments(db, move, 'out'),
  ];
  return reads.length + writes.length > 0;
}

async function askFence({ fence }: MoverContext, signal: AbortSignal): Promise<boolean> {
  try {
    await fence.advance(signal);
    return true;
  } catch (error) {
    if (isFenced(error)) return false;
    throw error;
  }
}

/**
 * Gives a move that begins anew other objects: the process that began it may still be alive, and its late
 * write must not replace an object that was verified meanwhile.
 */
async function renewObjects(context: MoverContext, move: Move): Promise<void> {
  const { db, graceSeconds } = context;
  await db.transaction(async (connection) => {
    const keys = await replaceObjects(connection, move);
    await queueRemovals(connection, move, { keys, graceSeconds });
  });
}

/**
 * Before this database takes the store over: the other one may have made live what was planned when the two parted,
 * with records that only it has. Our moves get other objects; those stay, for a verification to name.
 */
export async function disownObjects(db: Database): Promise<void> {
  await db.transaction(async (connection) => {
    for (const move of await takePlanned(connection)) await replaceObjects(connection, move);
  });
}

async function replaceObjects(connection: Connection, move: Move): Promise<string[]> {
  const keys = await deleteOutSegments(connection, move);
  for (const _ of keys) {
    const range = { tenant: move.tenant, firstDay: move.first_day, lastDay: move.last_day };
    await insertMoveSegment(connection, move, { ...newSegment(range), role: 'out' });
  }
  return keys;
}

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../platform/make-folders.ts';
import { isFenced } from '../../platform/objects/fence.ts';
import { mayPass } from '../../platform/objects/s3-errors.ts';
import type { StoreWait } from '../../platform/objects/store-wait.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import { failMove, isFull, MoveFault, noteAway, noteFull, toPassingFault } from './fail.ts';
import { newSegment } from './journal.ts';
import {
  type Move,
  type MoverContext,
  type MoveWork,
  tenantsAtOnce,
  turnsOf,
  type VerifiedSegment,
} from './move.ts';
import {
  analyzeDays,
  deleteOutSegments,
  deleteRemoval,
  endSwitched,
  insertMoveSegment,
  listDueRemovals,
  listMoveSegments,
  queueRemovals,
  type Removal,
  takeOver,
  takePlanned,
} from './queries.ts';
import { copyMove, stepsOf, switchMove } from './transitions.ts';
import { readBack, verifyCopy } from './verify-copy.ts';

/** Days of stores in a move, after which the planner is told: it took 0.6 s on a busy machine. */
const manyDays = 1000;

type MoveResult = {
  /** Whether the move is done as far as readers are concerned; false: it failed, for a reason in the journal. */
  readonly isSwitched: boolean;
  /** Whether it did not fail by damage but was called off, because policies do not allow it any more. */
  readonly isCalledOff: boolean;
};

const switched: MoveResult = { isSwitched: true, isCalledOff: false };

/**
 * Brings a move of this process from whatever state it is in to its end. The caller holds the tenant's lock.
 *
 * A move whose data is not what it should be fails, and the journal says why. Faults that pass (of the database, of the
 * store, an abort) are thrown; the move then goes on later from the last state that was committed. A full store is
 * thrown, too, and noted in the journal.
 */
export async function runMove(
  context: MoverContext,
  move: Move,
  signal: AbortSignal,
): Promise<MoveResult> {
  const taken = turnsOf(move);
  const run = () => runInTurn(context, move, { signal, taken });
  return context.turns === undefined ? run() : context.turns.run(run, taken);
}

async function runInTurn(
  context: MoverContext,
  move: Move,
  { signal, taken }: { signal: AbortSignal; taken: number },
): Promise<MoveResult> {
  signal.throwIfAborted();
  const dir = join(context.spoolDir, move.id);
  try {
    // Of small moves others may be at work as well.
    const beside = context.turns === undefined ? 1 : tenantsAtOnce / taken;
    const giveWay = context.pace.begin(beside);
    const rest = () => giveWay(signal);
    return await runIn(context, await openWork(context, move, { dir, signal, rest }));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function runIn(context: MoverContext, begun: MoveWork): Promise<MoveResult> {
  let work = begun;
  let segments: readonly VerifiedSegment[] | null = null;
  try {
    await rm(work.dir, { recursive: true, force: true });
    await makeFolders(work.dir, 0o700);
    for (;;) {
      await work.rest();
      work.signal.throwIfAborted();
      switch (work.move.state) {
        case 'planned':
          work = await copyMove(context, work);
          break;
        case 'copied': {
          const verified = await verifyCopy(context, work);
          ({ work, segments } = verified);
          break;
        }
        case 'verified':
          // After a restart the copies that were read back are gone, so they are read again.
          segments ??= await readBack(context, work);
          // The fence is advanced after the content of the objects was settled. A copy of the database that may write
          // from now on then either knows this move, or still has every record that the objects hold. See
          // platform/objects/fence.ts.
          if (work.in.length + work.out.length > 0) await context.fence.advance(work.signal);
          work = await switchMove(context, work, segments);
          await learnDays(context, segments);
          break;
        case 'switched':
          await cleanUp(context, work);
          return switched;
        case 'removed':
          return switched;
        case 'failed':
          return { isSwitched: false, isCalledOff: false };
      }
    }
  } catch (thrown) {
    // The error of a stream that was aborted does not say so; the signal does.
    if (!(thrown instanceof MoveFault)) work.signal.throwIfAborted();
    const error = toPassingFault(thrown, work.dir);
    if (error instanceof MoveFault) {
      await failMove(context, work, error);
      return { isSwitched: false, isCalledOff: !error.isDamage };
    }
    if (isFull(error)) await noteFull(context, work, error);
    else if (mayPass(error)) await noteAway(context, work, error);
    throw error;
  }
}

/** The server does this by itself, but up to a minute later, and of a large table only after a tenth of it has changed. */
async function learnDays(
  { db, log }: MoverContext,
  segments: readonly VerifiedSegment[],
): Promise<void> {
  if (segments.reduce((sum, { days }) => sum + days.length, 0) < manyDays) return;
  await analyzeDays(db).catch((err: unknown) => {
    log.warn({ err }, 'the planner does not know yet what a move has added');
  });
}

async function openWork(
  { db }: MoverContext,
  move: Move,
  options: Pick<MoveWork, 'dir' | 'signal' | 'rest'>,
): Promise<MoveWork> {
  return {
    move,
    in: move.kind === 'move' ? [] : await listMoveSegments(db, move, 'in'),
    out: await listMoveSegments(db, move, 'out'),
    ...options,
  };
}

/** switched → removed: at once when nothing waits; else `removeObjects` ends the move when the grace is over. */
async function cleanUp(context: MoverContext, work: MoveWork): Promise<void> {
  const { move } = work;
  const { db, onTransition } = context;
  await stepsOf(move).cleanUp?.(context, work);
  await onTransition?.('removed', 'before', move);
  const ended = await endSwitched(db, move.tenant, [move.id]);
  if (ended.length > 0) await onTransition?.('removed', 'after', { ...move, state: 'removed' });
}

/** What was done of a tenant so far. It outlasts a wait for the store, after which the work begins anew. */
export type Sofar = {
  /** The ids of the moves that it tells of. */
  readonly moves: Set<string>;
  /** The last day that was tried. */
  after: string | null;
  readonly wait: StoreWait;
};

/** Without `wait`, a fault of the store is thrown at once. */
export function nothingSofar(wait?: StoreWait): Sofar {
  const none: StoreWait = { run: (work) => work(), goesOn: async () => {} };
  return { moves: new Set(), after: null, wait: wait ?? none };
}

/** Runs a move and notes it. Once it has ended, the store answers. */
export async function runNoted(
  context: MoverContext,
  move: Move,
  { signal, sofar: { moves, wait } }: { signal: AbortSignal; sofar: Sofar },
): Promise<MoveResult> {
  // A deletion that only waits for the removal of its objects was told of by the work that switched it.
  if (move.kind !== 'delete' || move.state !== 'switched') moves.add(move.id);
  const result = await runMove(context, move, signal);
  await wait.goesOn();
  return result;
}

/**
 * Finishes the moves of a tenant that were left unfinished, whoever began them. The caller holds the tenant's lock.
 * While another database has the store, moves that need objects wait: they could neither write objects nor make any of
 * them live.
 */
export async function resumeMoves(
  context: MoverContext,
  tenant: string,
  { signal, sofar = nothingSofar() }: { signal: AbortSignal; sofar?: Sofar },
): Promise<void> {
  let mayWrite: boolean | null = null;
  for (const move of await takeOver(context.db, tenant, context.runner)) {
    if (await needsStore(context, move)) {
      mayWrite ??= await askFence(context, signal);
      if (!mayWrite) continue;
    }
    if (move.state === 'planned') await renewObjects(context, move);
    await runNoted(context, move, { signal, sofar });
  }
}

/** Whether a move still reads or writes objects. After the switch, only PostgreSQL is left to clean up. */
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

/** Gives a move that begins anew new keys: a late write of its first process must not replace a verified object. */
async function renewObjects(context: MoverContext, move: Move): Promise<void> {
  const { db, graceSeconds } = context;
  await db.transaction(async (connection) => {
    const keys = await replaceObjects(connection, move);
    await queueRemovals(connection, move, { keys, graceSeconds });
  });
}

/**
 * Prepares this database to take over the store. The other database may have made live what was planned when the two
 * parted, with records that only it has. So our planned moves get new objects, and the old ones stay; a verification
 * will name them.
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

const pageRows = 100;
/** A look passes over so many objects that cannot be removed, and ends: then it is more than some objects. */
const mostFaults = 1000;

/**
 * Removes the objects whose grace is over, and ends the moves that replaced them. Several processes may do this at
 * once, and it may be repeated after a kill. Returns how many objects were removed; none while another database has the
 * store. One that cannot be removed is passed over, and the first such fault is thrown in the end.
 */
export async function removeObjects(
  { db, store, fence }: Pick<MoverContext, 'db' | 'store' | 'fence'>,
  signal: AbortSignal,
): Promise<number> {
  let removedCount = 0;
  const faults: unknown[] = [];
  const next = (after?: Removal) => listDueRemovals(db, pageRows, after);
  for (let page = await next(); page.length > 0; page = await next(page.at(-1))) {
    try {
      // The fence is advanced after the objects were dropped from the catalogue, so that no copy of the database that
      // may write from now on still needs them.
      await fence.advance(signal);
      for (const removal of page) {
        // Another database that takes over the store meanwhile may need the remaining objects.
        await fence.assertOwn(signal);
        const isRemoved = await store.remove(removal.object_key, signal).then(
          () => true,
          (error: unknown) => void faults.push(error),
        );
        signal.throwIfAborted();
        if (isRemoved !== true) continue;
        await deleteRemoval(db, removal);
        removedCount += 1;
      }
    } catch (error) {
      // Every look would find the same, so nothing is logged here: the watch over the store reports it once.
      if (isFenced(error)) return removedCount;
      throw error;
    }
    for (const [tenant, ids] of byTenant(page)) await endSwitched(db, tenant, ids);
    if (page.length < pageRows || faults.length >= mostFaults) break;
  }
  if (faults.length > 0) throw faults[0];
  return removedCount;
}

function byTenant(removals: readonly Removal[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const { tenant, move_id } of removals) {
    ids.set(tenant, [...(ids.get(tenant) ?? []), move_id]);
  }
  return ids;
}

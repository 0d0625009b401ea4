import { AppError } from '../../kernel/errors.ts';
import { DuckDbError, isOutOfDisk, isOutOfMemory } from '../../platform/duckdb.ts';
import { fromFileSystem } from '../../platform/objects/objects.ts';
import { isStoreFull } from '../../platform/objects/s3-errors.ts';
import type { DueDays } from '../policies/queries.ts';
import { calledOffCodes, statesBeforeSwitch } from '../values.ts';
import { takeTransition } from './journal.ts';
import type { Move, MoverContext, MoveWork } from './move.ts';
import { queueRemovals, setFailed, setWaiting } from './queries.ts';

/** The reason why a move has to end: its data is not what it should be, or policies do not allow it any more. */
export class MoveFault extends Error {
  /** A stable code for the journal: segment_damaged, out_of_memory, source_changed, store_full, or a called-off code. */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MoveFault';
    this.code = code;
  }

  /** Whether somebody has to look into it. Otherwise policies have called the move off, or what others did meanwhile. */
  get isDamage(): boolean {
    return !calledOffCodes.includes(this.code);
  }
}

/** Ends a move. Its source is kept, and the objects that it wrote are removed. */
export async function failMove(
  context: MoverContext,
  { move, out }: MoveWork,
  fault: MoveFault,
): Promise<Move> {
  const { log, graceSeconds } = context;
  const failed = await takeTransition(context, move, {
    to: 'failed',
    async change(connection) {
      await setFailed(connection, move, fault);
      const keys = out.map(({ object_key }) => object_key);
      await queueRemovals(connection, move, { keys, graceSeconds });
    },
  });
  const about = { tenant: move.tenant, move: move.id, kind: move.kind, failedIn: move.state };
  if (fault.isDamage) log.error({ ...about, err: fault }, 'a move failed; its source is kept');
  else log.warn({ ...about, code: fault.code }, 'a move was called off');
  return failed;
}

/**
 * Notes in the journal that the store, or the disk, is full. The move fails with its source kept, and the next run
 * plans it anew. An erasure does not fail: it goes on with the next run, as whoever asked for it was told, and the
 * journal says what it waits for.
 */
export async function noteFull(
  context: MoverContext,
  work: MoveWork,
  error: AppError,
): Promise<void> {
  const { move } = work;
  if (!statesBeforeSwitch.includes(move.state)) return;
  const isErasure = move.kind === 'erase';
  const next = isErasure ? 'The next run goes on.' : 'The source is kept; the next run plans anew.';
  const fault = new MoveFault('store_full', `${error.detail} ${next}`, error);
  try {
    if (isErasure) await setWaiting(context.db, move, fault);
    else await failMove(context, work, fault);
  } catch (err) {
    // The database may lie on the same full disk; then the move stays as it is.
    context.log.warn(
      { err, move: move.id },
      'the journal could not be told that the store is full',
    );
  }
}

/** Notes in the journal that a move waits for a store that does not answer. It goes on where it is. */
export async function noteAway(
  { db, log }: MoverContext,
  { move }: MoveWork,
  error: AppError,
): Promise<void> {
  const fault = { code: 'store_unavailable', message: `It waits: ${error.detail}` };
  await setWaiting(db, move, fault).catch((err: unknown) =>
    log.warn({ err, move: move.id }, 'the journal could not be told that a move waits'),
  );
}

/**
 * Turns a full disk into a 503 that names the folder, and too little memory into a MoveFault; other errors are returned
 * unchanged. Too little memory ends the move, because if the memory never sufficed, all other work on the tenant would
 * wait for it for ever.
 */
export function toPassingFault(error: unknown, dir: string): unknown {
  const what = `The move cannot go on in ${dir}`;
  if (isOutOfMemory(error)) {
    return new MoveFault(
      'out_of_memory',
      'DuckDB had too little memory for these days. The source is kept; the next run moves them again. Records of many megabytes each take the most: if it fails again, look for those.',
      error,
    );
  }
  if (!(error instanceof DuckDbError)) return fromFileSystem(error, what);
  const [why = ''] = error.message.split('\n');
  return new AppError('cold_tier_unavailable', {
    detail: `${what}: ${why}. See to space on its disk; the next run goes on.`,
    retryAfterSeconds: 30,
    cause: error,
  });
}

/** Whether an error means that there is no room for what a move writes, in the store or in its own folder. */
export function isFull(error: unknown): error is AppError {
  return error instanceof AppError && (isOutOfDisk(error.cause) || isStoreFull(error));
}

/** Throws a MoveFault while the tenant is under legal hold. */
export function refuseHold({ hold }: Pick<DueDays, 'hold'>): void {
  if (!hold) return;
  throw new MoveFault('tenant_on_hold', 'The tenant is under legal hold. Nothing was changed.');
}

import type { AppError } from '../../kernel/errors.ts';
import { takeArrow } from './arrow.ts';
import type { MoverContext } from './context.ts';
import type { MoveWork } from './kinds.ts';
import type { Move } from './move.ts';
import { queueRemovals, setFailed, setWaiting } from './queries.ts';

/** Why a move must end: its data is not what it should be, or it may not happen any more. */
export class MoveFault extends Error {
  /**
   * Stable, for the journal: segment_damaged, out_of_memory, source_changed, store_full, tenant_on_hold,
   * not_due, kept_by_version.
   */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MoveFault';
    this.code = code;
  }

  /** Whether somebody has to look after it; else it was called off. */
  get isDamage(): boolean {
    return !['tenant_on_hold', 'not_due', 'kept_by_version'].includes(this.code);
  }
}

/** Ends a move with its source kept; what it wrote is removed. */
export async function failMove(
  context: MoverContext,
  { move, out }: MoveWork,
  fault: MoveFault,
): Promise<Move> {
  const { log, graceSeconds } = context;
  const failed = await takeArrow(context, move, {
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
 * A store without room ends the run, which the journal says: the move fails with its source kept, and the next run
 * plans it anew. An erasure goes on with the next run, as whoever asked for it was told, and says what it waits for.
 */
export async function noteFull(
  context: MoverContext,
  work: MoveWork,
  error: AppError,
): Promise<void> {
  const { move } = work;
  if (!['planned', 'copied', 'verified'].includes(move.state)) return;
  const isErasure = move.kind === 'erase';
  const next = isErasure ? 'The next run goes on.' : 'The source is kept; the next run plans anew.';
  const fault = new MoveFault('store_full', `${error.detail} ${next}`, error);
  try {
    if (isErasure) await setWaiting(context.db, move, fault);
    else await failMove(context, work, fault);
  } catch (err) {
    // A database on the same disk may have no room either: the move stays as it is.
    context.log.warn(
      { err, move: move.id },
      'the journal could not be told that the store is full',
    );
  }
}

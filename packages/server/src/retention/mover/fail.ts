import { takeArrow } from './arrow.ts';
import type { MoverContext } from './context.ts';
import type { MoveWork } from './kinds.ts';
import type { Move } from './move.ts';
import { queueRemovals, setFailed } from './queries.ts';

/** Why a move must end: its data is not what it should be, or it may not happen any more. */
export class MoveFault extends Error {
  /**
   * Stable, for the journal: segment_damaged, out_of_memory, source_changed, tenant_on_hold, not_due,
   * kept_by_version.
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

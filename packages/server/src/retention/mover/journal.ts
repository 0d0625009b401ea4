import { AppError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import { segmentKey } from '../../records/segments.ts';
import type { MoveKind, MoveState } from '../values.ts';
import type { Move, MoverContext, MoveSegment } from './move.ts';
import { insertMove, insertMoveSegment, lockMove } from './queries.ts';

export type PlannedMove = {
  readonly id?: string;
  readonly tenant: string;
  readonly runId: string | null;
  readonly kind: MoveKind;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly request?: unknown;
  readonly in: readonly MoveSegment[];
  readonly out: readonly MoveSegment[];
  /** Runs in the transaction that journals the move. */
  readonly note?: ((connection: Connection, move: Move) => Promise<void>) | undefined;
};

/** Journals a move with the segments that it reads and will write. From here on it happens, also after a restart. */
export async function journalMove(
  { db, runner, onTransition }: MoverContext,
  { note, ...planned }: PlannedMove,
): Promise<Move> {
  const move = await db.transaction(async (connection) => {
    const row = await insertMove(connection, { id: newId('mov'), ...planned, runner });
    for (const role of ['in', 'out'] as const) {
      for (const segment of planned[role]) {
        await insertMoveSegment(connection, row, { ...segment, role });
      }
    }
    await note?.(connection, row);
    return row;
  });
  await onTransition?.('planned', 'after', move);
  return move;
}

/** A segment to be written, with a new id and an object key that no other segment ever has. */
export function newSegment(
  range: { tenant: string; firstDay: string; lastDay: string },
  id = newId('seg'),
): MoveSegment {
  const object_key = segmentKey({ ...range, id });
  return { segment_id: id, object_key, size_bytes: null, sha256: null };
}

/**
 * Takes a move to its next state in one transaction. It holds only for the runner and the state that the move had, so
 * that a process which was thought dead changes nothing after another one took over. Throws 409 `tenant_busy` then.
 */
export async function takeTransition(
  context: MoverContext,
  move: Move,
  transition: { to: MoveState; change: (connection: Connection) => Promise<void> },
): Promise<Move> {
  const { db, onTransition } = context;
  const next = { ...move, state: transition.to };
  await db.transaction(async (connection) => {
    await lockOwn(connection, context, move);
    await transition.change(connection);
    await onTransition?.(transition.to, 'before', move);
  });
  await onTransition?.(transition.to, 'after', next);
  return next;
}

/** Locks a move of this process. Throws 409 `tenant_busy` when another process has taken it over. */
export async function lockOwn(
  connection: Connection,
  { runner }: Pick<MoverContext, 'runner'>,
  move: Move,
): Promise<void> {
  if (await lockMove(connection, move, { runner, state: move.state })) return;
  throw new AppError('tenant_busy', {
    detail: `Another process took over the move ${move.id}. It goes on there.`,
  });
}

/** What there is of a day: records, bytes of them, and stores that have some. */
type DaySize = { readonly count: number; readonly bytes?: number; readonly stores?: number };
const sizes = ['count', 'bytes', 'stores'] as const;

/** The first of these days, as many as one move takes: at least one. */
export function firstDays<Day extends DaySize>(
  days: readonly Day[],
  most: DaySize,
): readonly Day[] {
  const sum = { count: 0, bytes: 0, stores: 0 };
  const end = days.findIndex((day) => {
    for (const size of sizes) sum[size] += day[size] ?? 0;
    return sizes.some((size) => sum[size] > (most[size] ?? Number.POSITIVE_INFINITY));
  });
  return end === -1 ? days : days.slice(0, Math.max(1, end));
}

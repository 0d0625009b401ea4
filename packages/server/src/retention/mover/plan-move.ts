import { newId } from '../../kernel/ids.ts';
import { segmentKey } from '../../records/segments.ts';
import type { MoveKind } from '../values.ts';
import type { Move, MoverContext, MoveSegment } from './move.ts';
import { type HotDay, insertMove, insertMoveSegment, listHotDays } from './queries.ts';
import { isSmall } from './turns.ts';

/** What one move takes at most, in records and in their bytes, unless a single day has more. */
const maxCount = 1_000_000;
const maxBytes = 512 * 1024 * 1024;

export type DueMove = {
  readonly tenant: string;
  readonly runId: string | null;
  /** Only days after this one are moved; null begins with the first day. */
  readonly after: string | null;
  readonly lastDay: string;
};

/** Journals a move of the tenant's oldest hot days; null when there are none. */
export async function planMove(context: MoverContext, due: DueMove): Promise<Move | null> {
  const days = chunkDays(await listHotDays(context.db, due.tenant, due));
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return null;
  const { tenant, runId } = due;
  const range = { firstDay: first.day, lastDay: last.day };
  const sum = (of: 'count' | 'bytes') => days.reduce((total, day) => total + day[of], 0);
  const move = await journalMove(context, {
    ...{ tenant, runId, kind: 'move', ...range, in: [] },
    out: [newSegment({ tenant, ...range })],
  });
  return { ...move, isSmall: isSmall({ count: sum('count'), bytes: sum('bytes') }) };
}

/** The first of these days, as many as one move takes: at least one. */
export function chunkDays(days: readonly HotDay[]): readonly HotDay[] {
  let [count, bytes] = [0, 0];
  const end = days.findIndex((day) => {
    count += day.count;
    bytes += day.bytes;
    return count > maxCount || bytes > maxBytes;
  });
  return end === -1 ? days : days.slice(0, Math.max(1, end));
}

export type PlannedMove = {
  readonly tenant: string;
  readonly runId: string | null;
  readonly kind: MoveKind;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly request?: unknown;
  readonly in: readonly MoveSegment[];
  readonly out: readonly MoveSegment[];
};

/** Journals a move of any kind, with the segments that it reads and will write. */
export async function journalMove(context: MoverContext, planned: PlannedMove): Promise<Move> {
  const { db, runner } = context;
  const move = await db.transaction(async (connection) => {
    const row = await insertMove(connection, { ...planned, id: newId('mov'), runner });
    if (row === undefined) throw new Error('a move was not journalled');
    const segments = [
      ...planned.in.map((segment) => ({ ...segment, role: 'in' as const })),
      ...planned.out.map((segment) => ({ ...segment, role: 'out' as const })),
    ];
    for (const segment of segments) await insertMoveSegment(connection, row, segment);
    return row;
  });
  await context.onTransition?.('planned', 'after', move);
  return move;
}

/** A segment to be written, with a new id and an object key that no other segment ever has. */
export function newSegment(range: {
  tenant: string;
  firstDay: string;
  lastDay: string;
}): MoveSegment {
  const id = newId('seg');
  return {
    segment_id: id,
    object_key: segmentKey({ ...range, id }),
    size_bytes: null,
    sha256: null,
  };
}

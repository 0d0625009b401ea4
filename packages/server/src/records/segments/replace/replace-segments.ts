import type { Connection } from '../../../platform/postgres/database.ts';
import type { DayTriple, NewSegment, StoreDay } from '../segment.ts';
import { shareStoredBytes } from '../stored-shares.ts';
import { dayKey, emptyTriple, subtractTriples, sumByDay, sumTriples } from '../triple.ts';
import { changeCountersOf } from './change-counters.ts';
import {
  deleteSegments,
  insertSegment,
  insertSegmentDays,
  type LockedDay,
  listDaysOfSegments,
  lockDays,
  type StoredDay,
} from './queries.ts';
import { SourceChanged } from './source-changed.ts';

export type SegmentChange = {
  readonly tenant: string;
  readonly add: readonly NewSegment[];
  /** Ids of live segments. */
  readonly remove: readonly string[];
  /** Days without a part in these segments whose hot rows `removeHot` takes. */
  readonly hotDays?: readonly StoreDay[];
  /**
   * Takes hot rows out, once the counters of all days at hand are locked. Answers, by store and day, those
   * that leave for good: that lie in none of the added segments.
   */
  readonly removeHot?: (days: readonly LockedDay[]) => Promise<readonly DayTriple[]>;
  /** Whether records of the removed segments that are in no added one leave for good. */
  readonly isErasing?: boolean;
};

/**
 * Replaces segments in the catalogue and brings the counters after: inside the caller's transaction,
 * which commits soon. Locks and changes in the order of every other writer: days, hot rows, months, stores,
 * tenants, each in key order. Answers what left for good, by store and day. Throws SourceChanged.
 */
export async function replaceSegments(
  connection: Connection,
  change: SegmentChange,
): Promise<DayTriple[]> {
  const { tenant, add, remove, hotDays = [], isErasing = false } = change;
  const added = add.flatMap(storedDays);
  const touched = [...(await listDaysOfSegments(connection, tenant, remove)), ...added, ...hotDays];
  const days = [...new Map(touched.map((day) => [dayKey(day), day])).values()];
  const locked = await lockDays(connection, tenant, days);
  const removed = await deleteSegments(connection, tenant, remove);
  if (removed.ids.length !== new Set(remove).size) {
    throw new SourceChanged(
      'a segment to be replaced is not in the catalogue any more; nothing was changed.',
    );
  }
  await insertSegments(connection, tenant, add);
  const hotGone = (await change.removeHot?.(locked)) ?? [];
  const gone = isErasing ? [...hotGone, ...missing(removed.days, added)] : [...hotGone];
  await changeCountersOf(connection, tenant, { removed: removed.days, added, gone });
  return [...sumByDay(gone).values()];
}

async function insertSegments(
  connection: Connection,
  tenant: string,
  segments: readonly NewSegment[],
): Promise<void> {
  for (const segment of segments) {
    const days = segment.days.map(({ day }) => day).sort();
    const [first_day, last_day] = [days[0], days.at(-1)];
    if (first_day === undefined || last_day === undefined) throw new Error('a segment is empty');
    const triple = sumTriples(segment.days);
    await insertSegment(connection, tenant, { ...segment, ...triple, first_day, last_day });
    await insertSegmentDays(connection, { tenant, id: segment.id }, storedDays(segment));
  }
}

/** The days of a segment with their shares of the object's size. */
function storedDays(segment: NewSegment) {
  const shares = shareStoredBytes(
    segment.days.map(({ bytes }) => bytes),
    segment.size_bytes,
  );
  return segment.days.map((day, index) => ({ ...day, stored_bytes: shares[index] ?? 0 }));
}

/** What was in the removed segments and is not in the added ones, by store and day. */
function missing(removed: readonly StoredDay[], added: readonly DayTriple[]): DayTriple[] {
  const kept = sumByDay(added);
  return [...sumByDay(removed).values()]
    .map((day) => ({ ...day, ...subtractTriples(day, kept.get(dayKey(day)) ?? emptyTriple) }))
    .filter(({ count }) => count !== 0);
}

import type { Connection } from '../../platform/postgres/database.ts';
import { type DayTriple, hotTriple, type LockedDay } from '../../records/index.ts';
import { type DaySpan, deleteHotMatches } from './queries.ts';
import type { EraseScope } from './scope.ts';

/** Enough to keep a statement short. */
const statementRows = 200_000;
const dayMillis = 86_400_000;

/**
 * Deletes the hot records in the scope on days whose counters are locked; answers what went, by store and
 * day. The scope decides, not what was found when the erasure was planned: what came since goes too.
 */
export async function removeHotMatches(
  connection: Connection,
  scope: EraseScope,
  locked: readonly LockedDay[],
): Promise<DayTriple[]> {
  const gone: DayTriple[] = [];
  for (const span of spansOf(locked.filter((day) => isInScope(scope, day)))) {
    gone.push(...(await deleteHotMatches(connection, scope, span)));
  }
  return gone;
}

function isInScope({ store, from, to }: EraseScope, day: LockedDay): boolean {
  if (store !== null && day.store !== store) return false;
  if (from !== null && day.day < from) return false;
  if (to !== null && day.day > to) return false;
  return hotTriple(day).count > 0;
}

/** Days of a store that follow one another go in one statement, as long as that stays short. */
export function spansOf(days: readonly LockedDay[]): DaySpan[] {
  const spans: (DaySpan & { count: number })[] = [];
  for (const day of [...days].sort(byKey)) {
    const { count } = hotTriple(day);
    const last = spans.at(-1);
    const isNext =
      last?.store === day.store && Date.parse(last.to) + dayMillis === Date.parse(day.day);
    if (isNext && last.count + count <= statementRows) {
      last.to = day.day;
      last.count += count;
    } else spans.push({ store: day.store, from: day.day, to: day.day, count });
  }
  return spans.map(({ store, from, to }) => ({ store, from, to }));
}

function byKey(a: DayTriple, b: DayTriple): number {
  if (a.store !== b.store) return a.store < b.store ? -1 : 1;
  return a.day < b.day ? -1 : 1;
}

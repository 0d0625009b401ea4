import type { Connection } from '../../../platform/postgres/database.ts';
import type { DayTriple } from '../segment.ts';
import { emptyTriple, subtractTriples, sumTriples, type Triple } from '../triple.ts';
import {
  type CounterChange,
  type CounterChanges,
  type CounterTable,
  changeCounters,
  deleteEmptyCounters,
  lockCounters,
  renewTimes,
  type StoredDay,
} from './queries.ts';
import { SourceChanged } from './source-changed.ts';

/** By store and day: what left segments, what came into some, and what left for good from either tier. */
export type ColdChange = {
  readonly removed: readonly StoredDay[];
  readonly added: readonly StoredDay[];
  readonly gone: readonly DayTriple[];
};

/** Changes the counters of days, months, stores, the tenant's days and the tenant, in this order and in key order. */
export async function changeCountersOf(
  connection: Connection,
  tenant: string,
  change: ColdChange,
): Promise<void> {
  const levels = [
    ['leaf_days', ({ store, day }: DayTriple) => ({ store, day })],
    ['leaf_months', ({ store, day }: DayTriple) => ({ store, month: day.slice(0, 7) })],
    ['leaf_stores', ({ store }: DayTriple) => ({ store })],
    ['tenant_days', ({ day }: DayTriple) => ({ day })],
    ['leaf_tenants', () => ({})],
  ] as const;
  for (const [table, keyOf] of levels) {
    await changeLevel(connection, table, { tenant, changes: rollUp(change, keyOf) });
  }
}

async function changeLevel(
  connection: Connection,
  table: CounterTable,
  { tenant, changes }: CounterChanges,
): Promise<void> {
  if (changes.length === 0) return;
  await lockCounters(connection, table, { tenant, changes });
  const { found, wrong } = await changeCounters(connection, table, { tenant, changes });
  if (found !== changes.length || wrong > 0) {
    throw new SourceChanged(
      `${table} of ${tenant}: ${changes.length - found} counters are missing and ${wrong} would be wrong; nothing was changed. Run retention verify.`,
    );
  }
  const shrunk = changes.filter((counter) => counter.count !== 0);
  if (shrunk.length === 0) return;
  await deleteEmptyCounters(connection, table, { tenant, changes: shrunk });
  await renewTimes(connection, table, { tenant, changes: shrunk });
}

type Key = Pick<CounterChange, 'store' | 'day' | 'month'>;
type Sums = { key: Key; removed: StoredDay[]; added: StoredDay[]; gone: DayTriple[] };

/** Sums a change of days up to one level. */
function rollUp(change: ColdChange, keyOf: (day: DayTriple) => Key): CounterChange[] {
  const sums = new Map<string, Sums>();
  const sumsOf = (day: DayTriple): Sums => {
    const key = keyOf(day);
    const id = JSON.stringify(key);
    const found = sums.get(id) ?? { key, removed: [], added: [], gone: [] };
    sums.set(id, found);
    return found;
  };
  for (const day of change.removed) sumsOf(day).removed.push(day);
  for (const day of change.added) sumsOf(day).added.push(day);
  for (const day of change.gone) sumsOf(day).gone.push(day);
  return [...sums.values()].map(({ key, removed, added, gone }) => ({
    ...key,
    ...negative(sumTriples(gone)),
    ...cold(subtractTriples(sumTriples(added), sumTriples(removed))),
    cold_stored_bytes: storedBytes(added) - storedBytes(removed),
  }));
}

function negative(triple: Triple): Triple {
  return subtractTriples(emptyTriple, triple);
}

function cold({ count, bytes, digest }: Triple) {
  return { cold_count: count, cold_bytes: bytes, cold_digest: digest };
}

function storedBytes(days: readonly StoredDay[]): number {
  return days.reduce((sum, day) => sum + day.stored_bytes, 0);
}

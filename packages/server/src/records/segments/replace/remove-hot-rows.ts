import type { Connection } from '../../../platform/postgres/database.ts';
import type { DayTriple } from '../segment.ts';
import { dayKey, isSameTriple, subtractTriples, sumByDay } from '../triple.ts';
import { deleteHotKeys, deleteHotSpan, type LockedDay } from './queries.ts';
import { SourceChanged } from './source-changed.ts';

/** Keys of records of one store's day: times as on the wire, one event id for each. */
export type HotKeys = { readonly occurredAt: string[]; readonly eventIds: string[] };

export type HotRemoval = {
  readonly tenant: string;
  /** What was copied, by store and day. */
  readonly copied: readonly DayTriple[];
  /** Reads the keys that were copied of a store's day, some at a time. */
  readonly readKeys: (day: DayTriple) => AsyncIterable<HotKeys>;
};

/**
 * Deletes the hot rows that were copied, under the locks of `replaceSegments`. Where a day's hot counters
 * are still those of the copy, all of its hot rows go; where late records came in between, exactly the
 * copied ones. Throws SourceChanged, and so nothing happens, when they are not all there.
 */
export async function removeHotRows(
  connection: Connection,
  locked: readonly LockedDay[],
  removal: HotRemoval,
): Promise<void> {
  const copied = [...sumByDay(removal.copied).values()];
  const counters = new Map(locked.map((day) => [dayKey(day), day]));
  const whole: DayTriple[] = [];
  for (const day of copied) {
    const counter = counters.get(dayKey(day));
    if (counter !== undefined && isSameTriple(hotTriple(counter), day)) whole.push(day);
    else await removeKeys(connection, removal, day);
  }
  for (const span of spansOf(whole)) await removeSpan(connection, removal.tenant, span);
}

/** What of a locked day is hot. */
export function hotTriple(day: LockedDay) {
  return subtractTriples(day, {
    count: day.cold_count,
    bytes: day.cold_bytes,
    digest: day.cold_digest,
  });
}

async function removeKeys(
  connection: Connection,
  { tenant, readKeys }: HotRemoval,
  day: DayTriple,
): Promise<void> {
  let count = 0;
  for await (const keys of readKeys(day)) {
    count += await deleteHotKeys(connection, { tenant, store: day.store, day: day.day, ...keys });
  }
  if (count !== day.count) throw notThere(day.store, day.day);
}

function notThere(store: string, from: string): Error {
  return new SourceChanged(
    `the hot records of store ${store} from ${from} are not those that its counters tell; nothing was moved. Run retention verify.`,
  );
}

/** Whole days of a store, in milliseconds since 1970. */
type Span = { store: string; from: number; until: number; count: number };

/** Enough to keep a statement short. */
const statementRows = 200_000;
const dayMillis = 86_400_000;

async function removeSpan(connection: Connection, tenant: string, span: Span): Promise<void> {
  const { store } = span;
  const parts = Math.ceil(span.count / statementRows);
  const cut = (part: number) =>
    new Date(span.from + Math.round(((span.until - span.from) * part) / parts)).toISOString();
  let count = 0;
  for (let part = 0; part < parts; part++) {
    const bounds = { from: cut(part), until: cut(part + 1) };
    count += await deleteHotSpan(connection, { tenant, store, ...bounds });
  }
  if (count !== span.count) throw notThere(store, cut(0));
}

/** Days of a store that follow one another make one span, as long as it is small. */
function spansOf(days: readonly DayTriple[]): Span[] {
  const spans: Span[] = [];
  for (const { store, day, count } of [...days].sort(compareDays)) {
    const from = Date.parse(day);
    const last = spans.at(-1);
    const continues = last?.store === store && last.until === from;
    if (continues && last.count + count <= statementRows) {
      last.until = from + dayMillis;
      last.count += count;
    } else {
      spans.push({ store, from, until: from + dayMillis, count });
    }
  }
  return spans;
}

function compareDays(a: DayTriple, b: DayTriple): number {
  if (a.store !== b.store) return a.store < b.store ? -1 : 1;
  return a.day < b.day ? -1 : 1;
}

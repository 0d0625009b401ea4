import { dayAfter } from '../../kernel/day.ts';
import type { Connection } from '../../platform/postgres/database.ts';
import {
  addToCounters,
  type CounterAddition,
  type CounterChange,
  type CounterChanges,
  type CounterTable,
  changeCounters,
  deleteEmptyCounters,
  deleteHotKeys,
  deleteHotSpans,
  deleteSegments,
  type HotSpan,
  insertSegment,
  insertSegmentDays,
  type LockedDay,
  listDaysOfSegments,
  lockCounters,
  lockDays,
  openDays,
  renewTimes,
  type StoredDay,
} from './queries.ts';
import {
  type DayTriple,
  dayKey,
  emptyTriple,
  isSameTriple,
  type NewSegment,
  type SegmentDay,
  SourceChanged,
  type StoreDay,
  shareStoredBytes,
  subtractTriples,
  sumByDay,
  sumTriples,
  type Triple,
} from './segment.ts';

/** What `replaceSegments` is to change: segments to add, segments to remove, and hot rows that moved or went. */
type SegmentChange = {
  readonly tenant: string;
  readonly add: readonly NewSegment[];
  /** The ids of segments in the catalogue. */
  readonly remove: readonly string[];
  /** Days of which these segments hold nothing, but whose hot rows `removeHot` removes. */
  readonly hotDays?: readonly StoreDay[];
  /** Removes hot rows, once all counters are locked. Returns by day those that leave for good, in no added segment. */
  readonly removeHot?: (days: readonly LockedDay[]) => Promise<readonly DayTriple[]>;
  /** Whether the records of removed segments that are in no added segment leave for good. */
  readonly isErasing?: boolean;
  /** Whether the records of added segments are not counted yet, and so are counted now. */
  readonly areNew?: boolean;
};

/**
 * Replaces segments and corrects counters in a transaction that should commit soon. It locks in the order of every
 * other writer: days, hot rows, months, stores, tenants, by their keys. Returns by day what left. Throws SourceChanged.
 */
export async function replaceSegments(
  connection: Connection,
  change: SegmentChange,
): Promise<DayTriple[]> {
  const { tenant, add, remove, hotDays = [], isErasing = false, areNew = false } = change;
  const added = add.flatMap(storedDays);
  const held = remove.length > 0 ? await listDaysOfSegments(connection, tenant, remove) : [];
  const touched = [...held, ...added, ...hotDays];
  const days = [...new Map(touched.map((day) => [dayKey(day), day])).values()];
  const locked = areNew
    ? await openDays(connection, tenant, added)
    : await lockDays(connection, tenant, days);
  const removed =
    remove.length > 0 ? await deleteSegments(connection, tenant, remove) : { ids: [], days: [] };
  if (removed.ids.length !== new Set(remove).size) {
    throw new SourceChanged(
      'a segment to be replaced is not in the catalogue any more; nothing was changed.',
    );
  }
  await insertSegments(connection, tenant, add);
  const hotGone = (await change.removeHot?.(locked)) ?? [];
  const gone = isErasing ? [...hotGone, ...missing(removed.days, added)] : [...hotGone];
  await changeCountersOf(connection, tenant, { removed: removed.days, added, gone, areNew });
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

/** Returns the days of a segment, each with its share of the object's size. */
function storedDays(segment: NewSegment) {
  const shares = shareStoredBytes(
    segment.days.map(({ bytes }) => bytes),
    segment.size_bytes,
  );
  return segment.days.map((day, index) => ({ ...day, stored_bytes: shares[index] ?? 0 }));
}

/** Returns what was in the removed segments and is not in the added ones, by store and day. */
function missing(removed: readonly StoredDay[], added: readonly DayTriple[]): DayTriple[] {
  const kept = sumByDay(added);
  return [...sumByDay(removed).values()]
    .map((day) => ({ ...day, ...subtractTriples(day, kept.get(dayKey(day)) ?? emptyTriple) }))
    .filter(({ count }) => count !== 0);
}

/** By store and day: what left segments, what came into segments, and what left for good from either tier. */
type ColdChange = {
  readonly removed: readonly StoredDay[];
  readonly added: readonly AddedDay[];
  readonly gone: readonly DayTriple[];
  readonly areNew: boolean;
};

/** Changes all counters, table by table in this order, and each table in the order of its keys. */
async function changeCountersOf(
  connection: Connection,
  tenant: string,
  change: ColdChange,
): Promise<void> {
  const levels = [
    ['leaf_days', ({ store, day }: DayTriple) => ({ store, day })],
    ['leaf_months', ({ store, day }: DayTriple) => ({ store, month: day.slice(0, 7) })],
    ['leaf_stores', ({ store }: DayTriple) => ({ store })],
    ['tenant_days', ({ day }: DayTriple) => ({ day })],
    ['tenant_months', ({ day }: DayTriple) => ({ month: day.slice(0, 7) })],
    ['leaf_tenants', () => ({})],
  ] as const;
  for (const [table, keyOf] of levels) {
    const changes = rollUp(change, keyOf);
    if (change.areNew && table !== 'leaf_days') {
      await addToCounters(connection, table, { tenant, changes });
    } else await changeLevel(connection, table, { tenant, changes, areNew: change.areNew });
  }
}

/** Changes one table. A counter that is missing, or makes no sense then, shows wrong sums: nothing is changed. */
async function changeLevel(
  connection: Connection,
  table: CounterTable,
  { tenant, changes, areNew }: CounterChanges & { areNew: boolean },
): Promise<void> {
  if (changes.length === 0) return;
  // The days are locked already, and a counter alone needs no order.
  const isOrdered = table === 'leaf_days' || changes.length === 1;
  if (!isOrdered) await lockCounters(connection, table, { tenant, changes });
  const { found, wrong } = await changeCounters(connection, table, { tenant, changes });
  if (found !== changes.length || wrong > 0) {
    throw new SourceChanged(
      `${table} of ${tenant}: ${changes.length - found} counters are missing and ${wrong} would be wrong; nothing was changed. Run retention verify.`,
    );
  }
  // Days that held nothing have the times with which they were opened.
  if (areNew) return;
  const resized = changes.filter((counter) => counter.count !== 0);
  if (resized.length === 0) return;
  await deleteEmptyCounters(connection, table, { tenant, changes: resized });
  await renewTimes(connection, table, { tenant, changes: resized });
}

type Key = Pick<CounterChange, 'store' | 'day' | 'month'>;
type AddedDay = StoredDay & Pick<SegmentDay, 'first_at' | 'last_at'>;
type Sums = { key: Key; removed: StoredDay[]; added: AddedDay[]; gone: DayTriple[] };

/** Sums the changes of days up to one level. */
function rollUp(change: ColdChange, keyOf: (day: DayTriple) => Key): CounterAddition[] {
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
    ...subtractTriples(change.areNew ? sumTriples(added) : emptyTriple, sumTriples(gone)),
    ...cold(subtractTriples(sumTriples(added), sumTriples(removed))),
    cold_stored_bytes: storedBytes(added) - storedBytes(removed),
    first_at: added.map((day) => day.first_at).sort()[0] ?? '',
    last_at:
      added
        .map((day) => day.last_at)
        .sort()
        .at(-1) ?? '',
  }));
}

function cold({ count, bytes, digest }: Triple) {
  return { cold_count: count, cold_bytes: bytes, cold_digest: digest };
}

function storedBytes(days: readonly StoredDay[]): number {
  return days.reduce((sum, day) => sum + day.stored_bytes, 0);
}

/** The keys of records of one day of a store: times as in answers, and one event id for each. */
export type HotKeys = { readonly occurredAt: string[]; readonly eventIds: string[] };

type HotRemoval = {
  readonly tenant: string;
  /** What was copied, by store and day. */
  readonly copied: readonly DayTriple[];
  /** Reads the keys that were copied of a store's day, a part at a time. */
  readonly readKeys: (day: DayTriple) => AsyncIterable<HotKeys>;
};

/**
 * Deletes the copied hot rows, under the locks of `replaceSegments`: all of a day whose counters are those of the copy,
 * else exactly the copied. Throws SourceChanged when they are not all there, and nothing is changed.
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
  await removeSpans(connection, removal.tenant, spansOf(whole));
}

/** Returns the triple of the hot records of a locked day. */
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

/** Whole days of a store that follow one another, from the first to before `until`. */
export type Span = { store: string; from: string; until: string; count: number };

/** The most rows that one statement deletes, so that none takes long; of a single day it deletes all. */
const statementRows = 200_000;
/** The most spans of one statement: 300 took 190 ms with one each, 1,000 together take 39 ms. */
const statementSpans = 1000;

async function removeSpans(
  connection: Connection,
  tenant: string,
  spans: readonly Span[],
): Promise<void> {
  const left = new Map(spans.map((span) => [span, span.count]));
  for (const pieces of statementsOf(spans)) {
    const counts = await deleteHotSpans(connection, tenant, pieces);
    for (const [index, { span }] of pieces.entries()) {
      left.set(span, (left.get(span) ?? 0) - (counts[index] ?? 0));
    }
  }
  for (const [{ store, from }, count] of left) if (count !== 0) throw notThere(store, from);
}

type Piece = HotSpan & { readonly span: Span };

/** Cuts large spans, and takes small ones together, so that each statement has about as much to delete. */
function* statementsOf(spans: readonly Span[]): Generator<Piece[]> {
  let pieces: Piece[] = [];
  let rows = 0;
  for (const span of spans) {
    const parts = Math.ceil(span.count / statementRows);
    const [from, until] = [Date.parse(span.from), Date.parse(span.until)];
    const cut = (part: number) =>
      new Date(from + Math.round(((until - from) * part) / parts)).toISOString();
    for (let part = 0; part < parts; part++) {
      if (pieces.length === statementSpans || rows + span.count / parts > statementRows) {
        if (pieces.length > 0) yield pieces;
        [pieces, rows] = [[], 0];
      }
      pieces.push({ span, store: span.store, from: cut(part), until: cut(part + 1) });
      rows += span.count / parts;
    }
  }
  if (pieces.length > 0) yield pieces;
}

/** Joins days of a store that follow one another into one span, as long as it has few enough rows for one statement. */
export function spansOf(days: readonly Omit<DayTriple, 'bytes' | 'digest'>[]): Span[] {
  const spans: Span[] = [];
  for (const { store, day, count } of [...days].sort(compareDays)) {
    const last = spans.at(-1);
    const continues = last?.store === store && last.until === day;
    if (continues && last.count + count <= statementRows) {
      last.until = dayAfter(day);
      last.count += count;
    } else spans.push({ store, from: day, until: dayAfter(day), count });
  }
  return spans;
}

function compareDays(a: StoreDay, b: StoreDay): number {
  if (a.store !== b.store) return a.store < b.store ? -1 : 1;
  return a.day < b.day ? -1 : 1;
}

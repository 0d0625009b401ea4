import type { Connection } from '../../platform/postgres/database.ts';
import type { StoreDay } from '../segments/segment.ts';
import { contains, type DayWindow } from '../slice/slice.ts';
import * as queries from './queries.ts';

/**
 * Has versions counted again that may have lost records, and deletes those of which an erasure left nothing, in the
 * transaction that removes them, under `lockRemovals`. Returns which these are.
 */
export async function noteGoneRecords(connection: Connection, gone: Gone): Promise<Named[]> {
  const { tenant, kind, window } = gone;
  const hasLost = createLookUp(gone.days);
  const byVersion = groupBy(
    await queries.listVersionWindows(connection, tenant),
    ({ version_id }) => version_id,
  );
  const changed: string[] = [];
  const ended: string[] = [];
  for (const [id, windows] of byVersion) {
    const isWithin = (own: DayWindow) => window !== null && contains(window, own);
    if (kind === 'erase' && windows.every(isWithin)) ended.push(id);
    else if (windows.some(hasLost)) changed.push(id);
  }
  const change = kind === 'erase' ? 'erased' : 'deleted';
  if (changed.length > 0) await queries.setChanged(connection, { tenant, ids: changed }, change);
  if (ended.length > 0) await queries.deleteVersions(connection, { tenant, ids: ended });
  return [...changed, ...ended].map((id) => ({ id, name: byVersion.get(id)?.[0]?.name ?? '' }));
}

/** Deletes the tags that lie wholly on erased days. Returns how many there were. */
export async function removeErasedTags(
  connection: Connection,
  { tenant, kind, window }: Gone,
): Promise<number> {
  if (kind !== 'erase' || window === null) return 0;
  return queries.deleteTagsWithin(connection, tenant, window);
}

/** Makes what says whether a store-day lies in a window. It searches sorted lists: there may be a million. */
export function createLookUp(days: readonly StoreDay[]): (window: DayWindow) => boolean {
  const sorted = new Map<string | null, string[]>();
  for (const [store, own] of groupBy(days, (day) => day.store)) {
    sorted.set(store, own.map(({ day }) => day).sort());
  }
  sorted.set(null, [...new Set(days.map(({ day }) => day))].sort());
  return ({ store, from, until }) => {
    const own = sorted.get(store) ?? [];
    const first = own[firstFrom(own, from)];
    return first !== undefined && first < until;
  };
}

/** Returns the position of the first of sorted days that is not before `from`. */
function firstFrom(days: readonly string[], from: string): number {
  let [low, high] = [0, days.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((days[middle] ?? '') < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

function groupBy<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}

/** Records that left for good: erased on request, or deleted by policy. */
export type Gone = {
  readonly tenant: string;
  readonly kind: 'erase' | 'delete';
  /** The days of each store that lost records. */
  readonly days: readonly StoreDay[];
  /** Whole days of a store, or of all stores, that keep no record at all; null when only certain records went. */
  readonly window: DayWindow | null;
};

/** A version by its name, an export by that of its file, or a count by that of who asked for it. */
export type Named = { readonly id: string; readonly name: string };

/** What other things went or changed with the records. Only erasures name them, and earlier ones did not. */
export type GoneEffects = {
  readonly tagsRemoved: number;
  readonly versionsChanged: number;
  readonly exportsRemoved: number;
  /** The first of the versions. */
  readonly versions?: readonly Named[];
  /** The first of the exports. */
  readonly exports?: readonly Named[];
  /** Counts of records that ended with it, and the first of them. */
  readonly countsEnded?: number;
  readonly counts?: readonly Named[];
  /** The exports of which files that may hold erased records were fetched, the latest first. */
  readonly downloads?: readonly (Named & { readonly at: string; readonly by: readonly string[] })[];
  /** Folders of schedules that may hold erased records, the newest first. */
  readonly delivered?: readonly string[];
};

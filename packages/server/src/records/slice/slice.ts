import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { addDays, daysIn } from '../../kernel/day.ts';
import { checkDayRange, invalidInput } from '../../kernel/errors.ts';
import { compareText } from '../../kernel/names.ts';
import type { StoreDay } from '../segments/segment.ts';
import type { segmentColumns } from '../segments/segment-sql.ts';
import type { DatasetName, SplitName } from '../values.ts';
import type { Shares } from '../versions.contract.ts';
import { parseWhere } from '../where/parse.ts';

/** Which records are meant, as a client says it. */
export type SliceRequest = { dataset?: DatasetName } & Partial<
  Record<'tenant' | 'store' | 'month' | 'from' | 'to' | 'kind' | 'source', string> &
    Record<'event_id' | 'where', string>
>;
export type TenantSliceRequest = SliceRequest & { readonly tenant: string };

/** Which records are meant, once checked: whole UTC days from `from` to before `until`. Undefined restricts nothing. */
export type Slice = {
  readonly tenant?: string | undefined;
  readonly store?: string | undefined;
  /** The first day, `YYYY-MM-DD`. */
  readonly from?: string | undefined;
  /** The day after the last one. */
  readonly until?: string | undefined;
  readonly kind?: string | undefined;
  readonly source?: string | undefined;
  readonly eventId?: string | undefined;
  /** What else holds of each record, as text that `parseWhere` takes. */
  readonly where?: string | undefined;
  readonly dataset?: DatasetName | undefined;
  /** Only records of more bytes than this are read. */
  readonly largerThan?: number | undefined;
  /** The windows by which `dataset` filters. A record is read only if it lies in one of them. */
  readonly tags?: TagWindows | undefined;
  /** Only the store-days in this range of the key order are read. */
  readonly range?: KeyRange | undefined;
  /** Only records that were stored before this time are read: a pinned slice stays the same, whatever arrives later. */
  readonly recordedBefore?: string | undefined;
  /** Only records that were stored at this time or later are read. With both times it is what was stored in between. */
  readonly recordedFrom?: string | undefined;
  /** Of a dataset version: how it is split, by which groups (see `parseGroup`), and which split is read. */
  readonly shares?: Shares | undefined;
  readonly groupBy?: string | undefined;
  readonly split?: SplitName | undefined;
  /** Only records that are not, or not so, in another dataset version of the tenant are read. */
  readonly beside?: Beside | undefined;
  /** The tenants that the caller may see; null means all. */
  readonly tenants: readonly string[] | null;
};

/** A slice of one tenant. */
export type TenantSlice = Slice & { readonly tenant: string };

/** Records that the other version has not (`outside`), or in another split. `unlike` comes from `compareSlices`. */
export type Beside =
  | { readonly op: 'outside'; readonly unlike: Unlike }
  | { readonly op: 'moved'; readonly unlike: Unlike; readonly of: SplitSlice };

type Unlike = Pick<Slice, 'recordedBefore' | 'where'> & {
  readonly windows?: readonly DayWindow[] | undefined;
};

/** A slice with splits. */
export type SplitSlice = Pick<Slice, 'groupBy'> & { readonly shares: Shares };

export function isSplit<S extends Slice>(slice: S): slice is S & { readonly shares: Shares } {
  return slice.shares !== undefined;
}

/** What can be read of a record: its own columns, and what its slice says about it. */
export type RecordColumn = (typeof segmentColumns)[number] | 'month' | 'datasets' | 'split';

/** Whole UTC days of a store, or of all stores when `store` is null: from `from` to before `until`, `YYYY-MM-DD`. */
export type DayWindow = {
  readonly store: string | null;
  readonly from: string;
  readonly until: string;
};

/** Where a window that is open at one end begins or ends. No record can be older or younger. */
export const firstDay = '1970-01-01';
export const beyondLastDay = '9999-12-31';

/** Days that follow one another. */
export type Span = { readonly from: string; readonly until: string };

/** The tagged days of a tenant, merged: the windows of the same store (and those of null) do not overlap. */
export type TagWindows = Readonly<Record<DatasetName, readonly DayWindow[]>>;

/** Store-days that follow one another in the order of the keys, both ends included. */
export type KeyRange = {
  readonly first: StoreDay;
  readonly last: StoreDay;
  /** The earliest and the latest day in the range, of any store. */
  readonly minDay: string;
  readonly maxDay: string;
};

/** Joins two ranges of which the second follows the first. */
export function joinKeyRanges(one: KeyRange, next: KeyRange): KeyRange {
  return {
    first: one.first,
    last: next.last,
    minDay: one.minDay < next.minDay ? one.minDay : next.minDay,
    maxDay: one.maxDay > next.maxDay ? one.maxDay : next.maxDay,
  };
}

/**
 * Checks a request for a slice. Throws 400 `request_invalid` when its days, its dataset or its `where` make no sense. A slice of a
 * dataset still lacks its tags: call `withTags` before anything is read. `place` is `?` for a query and `/` for a body.
 */
export function toSlice(
  request: SliceRequest,
  actor: Pick<Actor, 'tenants'>,
  place: '?' | '/',
): Slice {
  const { tenant, store, month, from, to, kind, source, dataset, where } = request;
  if (month !== undefined && (from !== undefined || to !== undefined)) {
    throw invalidInput(`${place}month`, 'goes without from and to');
  }
  checkDayRange(place, { from, to });
  if (dataset !== undefined && tenant === undefined) {
    throw invalidInput(`${place}dataset`, 'goes with a tenant, whose tags it means');
  }
  if (where !== undefined) parseWhere(where, `${place}where`);
  const window = month === undefined ? daysWindow(from, to) : monthWindow(month);
  return {
    tenant,
    store,
    kind,
    source,
    dataset,
    where,
    eventId: request.event_id,
    ...window,
    tenants: actor.tenants,
  };
}

/** Returns whether the slice can hold nothing that the caller may see. */
export function isOutOfReach(slice: Slice, actor: Actor): boolean {
  return slice.tenant !== undefined && !mayTouchTenant(actor, slice.tenant);
}

/** Up to so many windows are conditions of a statement; more of stores are rows that it joins, and of all stores one value. */
export const fewWindows = 16;

/** Returns the windows of the slice's dataset, cut to its store and days; of a range only those that touch it. */
export function taggedWindows(
  slice: Pick<Slice, 'dataset' | 'tags' | 'store' | 'from' | 'until'>,
  range?: KeyRange,
): DayWindow[] {
  const { dataset, tags, store, from, until } = slice;
  if (dataset === undefined) throw new Error('the slice has no dataset');
  if (tags === undefined) throw new Error('a slice of a dataset is read without its tags');
  return tags[dataset]
    .map((window) => ({
      store: window.store,
      from: from !== undefined && from > window.from ? from : window.from,
      until: until !== undefined && until < window.until ? until : window.until,
    }))
    .filter(
      (window) =>
        window.from < window.until &&
        (store === undefined || window.store === null || window.store === store) &&
        (range === undefined || touches(window, range)),
    );
}

function touches({ store, from, until }: DayWindow, { first, last, minDay, maxDay }: KeyRange) {
  const isBeside =
    store !== null && (compareText(store, first.store) < 0 || compareText(store, last.store) > 0);
  return !isBeside && from <= maxDay && until > minDay;
}

/** Returns what can keep a record of this version out of another; empty when that has all, so nothing need be read. */
export function compareSlices(own: Slice, other: Slice): Unlike {
  const windows = taggedWindows(other);
  const isWithin = (inner: DayWindow) => windows.some((outer) => contains(outer, inner));
  const [ownTime, otherTime] = [own.recordedBefore ?? '', other.recordedBefore ?? ''];
  return {
    ...(!taggedWindows(own).every(isWithin) && { windows }),
    ...(ownTime > otherTime && { recordedBefore: otherTime }),
    ...(other.where !== undefined && other.where !== own.where && { where: other.where }),
  };
}

export function contains(outer: DayWindow, inner: DayWindow): boolean {
  const isOfStore = outer.store === null || outer.store === inner.store;
  return isOfStore && outer.from <= inner.from && inner.until <= outer.until;
}

/** Whether any of these days belongs to the slice. It may end a job that lost nothing, but misses none that did. */
export function hasLost(slice: Slice, { days }: { days: readonly StoreDay[] }): boolean {
  const windows = slice.dataset === undefined ? null : (slice.tags?.[slice.dataset] ?? []);
  return days.some(
    ({ store, day }) =>
      (slice.store === undefined || slice.store === store) &&
      (slice.from === undefined || day >= slice.from) &&
      (slice.until === undefined || day < slice.until) &&
      (windows === null || windows.some((window) => isIn(window, { store, day }))),
  );
}

function isIn(window: DayWindow, { store, day }: StoreDay): boolean {
  return (
    (window.store === null || window.store === store) && day >= window.from && day < window.until
  );
}

/** Returns whether the counters of leaves alone can say how many records the slice has. */
export function isCounted(slice: Slice): boolean {
  return ofRecords.every((name) => slice[name] === undefined);
}

/** What of a slice only the records themselves can tell. */
const ofRecords = [
  ...(['kind', 'source', 'eventId', 'where', 'largerThan', 'split', 'beside'] as const),
  ...(['recordedBefore', 'recordedFrom'] as const),
];

/** Returns the slice of all records in the same places. */
export function unfiltered(slice: Slice): Slice {
  return { ...slice, ...Object.fromEntries(ofRecords.map((name) => [name, undefined])) };
}

function daysWindow(from: string | undefined, to: string | undefined) {
  if (from === undefined || to === undefined) return {};
  return { from, until: addDays(to, 1) };
}

function monthWindow(month: string) {
  return { from: `${month}-01`, until: addDays(`${month}-${daysIn(month)}`, 1) };
}

/** Returns the only month of the slice, or null if there are several. Knowing it saves formatting it for each row. */
export function onlyMonth(slice: Slice): string | null {
  if (slice.from === undefined || slice.until === undefined) return null;
  const last = new Date(Date.parse(slice.until) - 1).toISOString().slice(0, 7);
  return slice.from.startsWith(last) ? last : null;
}

import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { addDays, daysIn } from '../../kernel/day.ts';
import { invalidInput } from '../../kernel/errors.ts';
import type { StoreDay } from '../segments/segment.ts';
import type { segmentColumns } from '../segments/segment-sql.ts';
import type { DatasetName, SplitName } from '../values.ts';
import type { Shares } from '../versions.contract.ts';

/** Which records, as a client asks for them. */
export type SliceRequest = {
  tenant?: string;
  store?: string;
  month?: string;
  from?: string;
  to?: string;
  kind?: string;
  source?: string;
  dataset?: DatasetName;
};

/** Which records, checked: whole UTC days from `from` to before `until`. */
export type Slice = {
  readonly tenant?: string | undefined;
  readonly store?: string | undefined;
  /** First day, `YYYY-MM-DD`. */
  readonly from?: string | undefined;
  /** The day after the last. */
  readonly until?: string | undefined;
  readonly kind?: string | undefined;
  readonly source?: string | undefined;
  readonly dataset?: DatasetName | undefined;
  /** By which windows `dataset` filters: it reads nothing that is not in one of them. */
  readonly tags?: TagWindows | undefined;
  /** Store-days of this stretch of the key order only. */
  readonly range?: KeyRange | undefined;
  /** Only records stored before this time: what a pinned slice has, whatever arrives later. */
  readonly recordedBefore?: string | undefined;
  /** Of a dataset version: how its records are split, and which split is read. */
  readonly shares?: Shares | undefined;
  readonly split?: SplitName | undefined;
  /** The tenants the caller may see; null = all. */
  readonly tenants: readonly string[] | null;
};

/** What can be read of a record: its own columns, and what its slice says of it. */
export type RecordColumn = (typeof segmentColumns)[number] | 'month' | 'datasets' | 'split';

/** Whole UTC days of a store, or of all: from `from` to before `until`, `YYYY-MM-DD`. */
export type DayWindow = {
  readonly store: string | null;
  readonly from: string;
  readonly until: string;
};

/** The tagged days of a tenant, merged: those of one store (and those of null) do not overlap. */
export type TagWindows = Readonly<Record<DatasetName, readonly DayWindow[]>>;

/** Store-days that follow each other, both ends included. */
export type KeyRange = {
  readonly first: StoreDay;
  readonly last: StoreDay;
  /** The earliest and the latest day in it, of whatever store. */
  readonly minDay: string;
  readonly maxDay: string;
};

/**
 * Throws `request_invalid` unless the window makes sense. A dataset needs its tags put beside it before
 * anything is read, see `withTags`. `place` is `?` for a query, `/` for a body. */
export function toSlice(request: SliceRequest, actor: Actor, place: '?' | '/'): Slice {
  const { tenant, store, month, from, to, kind, source, dataset } = request;
  if (month !== undefined && (from !== undefined || to !== undefined)) {
    throw invalidInput(`${place}month`, 'goes without from and to');
  }
  if ((from === undefined) !== (to === undefined)) {
    const missing = from === undefined ? 'from' : 'to';
    throw invalidInput(`${place}${missing}`, 'from and to need each other', 'field_required');
  }
  if (from !== undefined && to !== undefined && from > to) {
    throw invalidInput(`${place}from`, `${from} lies after to, ${to}`);
  }
  if (dataset !== undefined && tenant === undefined) {
    throw invalidInput(`${place}dataset`, 'goes with a tenant, whose tags it means');
  }
  const window = month === undefined ? daysWindow(from, to) : monthWindow(month);
  return { tenant, store, kind, source, dataset, ...window, tenants: actor.tenants };
}

/** Whether the slice can hold nothing the caller may see. */
export function isOutOfReach(slice: Slice, actor: Actor): boolean {
  return slice.tenant !== undefined && !mayTouchTenant(actor, slice.tenant);
}

/** Whether the leaf counters alone answer how many records the slice has. */
export function isCounted(slice: Slice): boolean {
  return (
    slice.kind === undefined &&
    slice.source === undefined &&
    slice.recordedBefore === undefined &&
    slice.split === undefined
  );
}

function daysWindow(from: string | undefined, to: string | undefined) {
  if (from === undefined || to === undefined) return {};
  return { from, until: addDays(to, 1) };
}

function monthWindow(month: string) {
  return { from: `${month}-01`, until: addDays(`${month}-${daysIn(month)}`, 1) };
}

/** The month that all days of the slice lie in, if it is one: spares formatting it row by row. */
export function onlyMonth(slice: Slice): string | null {
  if (slice.from === undefined || slice.until === undefined) return null;
  const last = new Date(Date.parse(slice.until) - 1).toISOString().slice(0, 7);
  return slice.from.startsWith(last) ? last : null;
}

import type { NewTag } from '../../api/types.ts';
import type { DatasetName } from '../../api/values.ts';
import { isDay } from '../../ui/day-range.ts';
import { monthEnds, type SliceParams } from '../search.ts';

/** Which days a new tag covers: all days, also future ones; the month of the node; or a range. */
const windowKinds = ['all', 'month', 'range'] as const;
type WindowKind = (typeof windowKinds)[number];

/** Where a new tag begins: the tenant or store, and the days that are chosen on the page. */
export type TagPlace = {
  readonly tenant: string;
  /** Undefined for a tag of the whole tenant. */
  readonly store?: string | undefined;
  readonly month?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The first and the last month with records; undefined while that is not known. */
  readonly months?: readonly [string, string] | undefined;
};

/** The fields of the form as typed. */
export type TagValues = {
  readonly dataset: DatasetName;
  readonly window: WindowKind;
  readonly from: string;
  readonly to: string;
  readonly note: string;
};

/** The first values of the form: the chosen days, else the month, else the months with records, else all days. */
export function valuesOf(place: TagPlace): TagValues {
  const { month } = place;
  const months = month === undefined ? place.months : ([month, month] as const);
  const [first, last] = months === undefined ? ['', ''] : endsOf(...months);
  const { from = first, to = last } = place;
  const isRange = place.from !== undefined || (month === undefined && months !== undefined);
  const window = isRange ? 'range' : month === undefined ? 'all' : 'month';
  return { dataset: 'training', window, from, to, note: '' };
}

/** The first day of one month and the last day of another. */
function endsOf(first: string, last: string): [string, string] {
  return [monthEnds(first)[0], monthEnds(last)[1]];
}

/** A quarter of a year, such as 2001 Q1. */
export type Quarter = { readonly name: string; readonly from: string; readonly to: string };

const mostQuarters = 8;

/** The newest quarters that have records, from the first to the last month. */
export function quartersOf([first, last]: readonly [string, string]): Quarter[] {
  const quarterAt = (month: string) =>
    Number(month.slice(0, 4)) * 4 + Math.floor((Number(month.slice(5)) - 1) / 3);
  const end = quarterAt(last);
  const begin = Math.max(quarterAt(first), end - mostQuarters + 1);
  return Array.from({ length: Math.max(0, end - begin + 1) }, (_, index) => {
    const year = String(Math.floor((begin + index) / 4)).padStart(4, '0');
    const part = (begin + index) % 4;
    const month = (at: number) => `${year}-${String(part * 3 + at).padStart(2, '0')}`;
    const [from, to] = endsOf(month(1), month(3));
    return { name: `${year} Q${part + 1}`, from, to };
  });
}

/** What is wrong with the days, as a sentence; null when nothing is. */
export function faultOf({ window, from, to }: TagValues): string | null {
  if (window !== 'range') return null;
  if (!isDay(from) || !isDay(to)) return 'Give the first and the last day, such as 2026-03-05.';
  return from > to ? 'The first day lies after the last one.' : null;
}

/** The tag to ask for, in the words of the API. */
export function tagOf(place: TagPlace, values: TagValues): NewTag {
  const { tenant, store, month } = place;
  const { window, from, to, dataset, note } = values;
  return {
    tenant,
    ...(store !== undefined && { store }),
    ...(window === 'month' && month !== undefined && { month }),
    ...(window === 'range' && { from, to }),
    dataset,
    ...(note.trim() !== '' && { note: note.trim() }),
  };
}

/** Which records a tag is of. */
export function sliceOfTag({ dataset: _dataset, note: _note, ...slice }: NewTag): SliceParams {
  return slice;
}

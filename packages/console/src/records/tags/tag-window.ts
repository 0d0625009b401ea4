import type { NewTag } from '../../api/types.ts';
import type { DatasetName } from '../../api/values.ts';
import { daysIn, monthEnds } from '../search.ts';

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
};

/** The fields of the dialog as typed. */
export type TagValues = {
  readonly dataset: DatasetName;
  readonly window: WindowKind;
  readonly from: string;
  readonly to: string;
  readonly note: string;
};

export const datasetWords: Readonly<Record<DatasetName, string>> = {
  training: 'training',
  fine_tuning: 'fine-tuning',
};

/** The first values of the dialog: the chosen range of days, else the month, else all days. */
export function valuesOf(place: TagPlace): TagValues {
  const { month } = place;
  const [first = '', last = ''] = month === undefined ? [] : monthEnds(month);
  const { from = first, to = last } = place;
  const window = place.from !== undefined ? 'range' : month === undefined ? 'all' : 'month';
  return { dataset: 'training', window, from, to, note: '' };
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

/** The days of a tag in words: `2001-03`, `2001-02-01 … 2001-03-05`, or all days. */
export function windowText(from: string | null, to: string | null): string {
  if (from === null && to === null) return 'all days';
  if (from === null) return `until ${to}`;
  if (to === null) return `from ${from} on`;
  if (from === to) return from;
  const month = from.slice(0, 7);
  const isMonth = from.endsWith('-01') && to === `${month}-${daysIn(month)}`;
  return isMonth ? month : `${from} … ${to}`;
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

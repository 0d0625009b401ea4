import type { DayRow, NewTag } from '../../api/types.ts';
import type { DatasetName } from '../../api/values.ts';
import { daysParams, monthEnds } from '../../ui/days.ts';
import type { SliceParams } from '../search.ts';

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

/** The fields of the form. Without days the tag is of all, also of those to come. */
export type TagValues = {
  readonly dataset: DatasetName;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly note: string;
};

/** The first values of the form: the chosen days, else the month, else the months with records, else all days. */
export function valuesOf(place: TagPlace): TagValues {
  const { month, months } = place;
  const [first, last] = month === undefined ? (months ?? []) : [month, month];
  const ends = first && last ? { from: monthEnds(first)[0], to: monthEnds(last)[1] } : {};
  const { from, to } = place.from === undefined ? ends : place;
  return { dataset: 'training', from, to, note: '' };
}

/** The tag to ask for, in the words of the API. */
export function tagOf({ tenant, store }: TagPlace, values: TagValues): NewTag {
  const { dataset, note } = values;
  return {
    tenant,
    ...(store !== undefined && { store }),
    ...daysParams(values),
    dataset,
    ...(note.trim() !== '' && { note: note.trim() }),
  };
}

/** What a tag of these days adds: days that are tagged as a whole are not new, nor are tagged records of the others. */
export function newByTag(days: readonly DayRow[], dataset: DatasetName) {
  const news = days
    .map(({ count, by_dataset }) => count - by_dataset[dataset])
    .filter((count) => count > 0);
  return {
    /** Days with records. */
    days: days.filter(({ count }) => count > 0).length,
    newDays: news.length,
    newCount: news.reduce((sum, count) => sum + count, 0),
  };
}

/** Which records a tag is of. */
export function sliceOfTag({ dataset: _dataset, note: _note, ...slice }: NewTag): SliceParams {
  return slice;
}

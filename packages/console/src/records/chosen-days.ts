import type { DatasetRow } from '../api/types.ts';
import { monthEnds, type RecordsSearch } from './search.ts';

export type DayRange = { readonly from: string; readonly to: string };

/** The chosen days; null: all of the node. An open end is where the month or the records of the node end. */
export function chosenDays(
  search: RecordsSearch,
  facts: Pick<DatasetRow, 'first_at' | 'last_at'> | null | undefined,
): DayRange | null {
  const { from, to, month } = search;
  if (from === undefined && to === undefined) return null;
  const [first, last] =
    month === undefined
      ? [facts?.first_at?.slice(0, 10), facts?.last_at?.slice(0, 10)]
      : monthEnds(month);
  const start = from ?? earlier(first, to);
  const end = to ?? later(last, from);
  return start === undefined || end === undefined ? null : { from: start, to: end };
}

function earlier(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}

import { type ReactNode, useMemo } from 'react';
import type { DatasetRow } from '../api/types.ts';
import { DayField } from '../ui/day-field.tsx';
import type { Days } from '../ui/days.ts';
import { monthEnds } from '../ui/days.ts';
import { useFullMonths } from './facts/use-facts.ts';
import { chosenNode, type RecordsSearch } from './search.ts';

export type PageDaysProps = {
  search: RecordsSearch;
  facts: DatasetRow | null | undefined;
  label?: string;
  onChange: (days: Days) => void;
};

/** The days of the chosen node: those of its month, or any. */
export function PageDays(props: PageDaysProps): ReactNode {
  const { search, facts, ...field } = props;
  const { month } = search;
  const [first, last] = month === undefined ? [] : monthEnds(month);
  const months = useFullMonths(
    useMemo(() => chosenNode(search), [search]),
    facts?.digest,
  );
  return <DayField {...field} {...{ days: search, first, last }} months={months} />;
}

import { type ReactNode, useMemo } from 'react';
import type { DatasetRow } from '../api/types.ts';
import { Quarters } from '../ui/day-choices.tsx';
import { DayField } from '../ui/day-field.tsx';
import { readRange, type Times } from '../ui/day-range.ts';
import { allDays, type Days, monthEnds } from '../ui/days.ts';
import { useFullMonths } from './facts/use-facts.ts';
import { chosenNode, type RecordsSearch } from './search.ts';
import { timesOf } from './times.ts';

export type PageDaysProps = {
  search: RecordsSearch;
  facts: DatasetRow | null | undefined;
  label?: string;
  /** Whether the quarters with records stand below the field, where any days may be chosen. */
  hasQuarters?: boolean;
  onChange: (days: Days) => void;
  /** Where hours can be chosen: see `DayField`. */
  onTimes?: (times: Times) => void;
};

/** The days of the chosen node: those of its month, or any. */
export function PageDays(props: PageDaysProps): ReactNode {
  const { search, facts, hasQuarters = false, ...field } = props;
  const { month } = search;
  const [first, last] = month === undefined ? [] : monthEnds(month);
  const months = useFullMonths(
    useMemo(() => chosenNode(search), [search]),
    facts?.digest,
  );
  return (
    <div>
      <DayField
        {...field}
        days={timesOf(search.where) ?? search}
        first={first}
        last={last}
        months={months}
      />
      {hasQuarters && month === undefined && months !== undefined && (
        <Quarters
          days={search}
          months={months}
          bounds={allDays}
          onChoose={(quarter) => props.onChange({ ...readRange(quarter, new Date()) })}
        />
      )}
    </div>
  );
}

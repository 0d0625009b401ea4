import { TextInput } from '@mantine/core';
import { type ReactNode, useId, useRef, useState } from 'react';
import { type DayRange, isDay, isRangeName, rangeNames, readRange } from './day-range.ts';
import { earliestDay, latestDay } from './days.ts';
import classes from './list-page.module.css';
import { useZone } from './zone-switch.tsx';

type DayChange = { from?: string | undefined; to?: string | undefined };

/** The first and the last day of a list, both included. Each of the fields also takes both at once, as `2026-q1`. */
export function DayFilters(props: {
  from: string | undefined;
  to: string | undefined;
  /** The days that there are to choose from. */
  first?: string | undefined;
  last?: string | undefined;
  onChange: (change: DayChange) => void;
}): ReactNode {
  const { from, to, first = earliestDay, last = latestDay, onChange } = props;
  const names = useId();
  const bounds = { from: first, to: last };
  return (
    <>
      <DayFilter
        name="From"
        value={from}
        first={first}
        last={to ?? last}
        bounds={bounds}
        names={names}
        onChange={(day) => onChange({ from: day })}
        onRange={onChange}
      />
      <DayFilter
        name="To"
        value={to}
        first={from ?? first}
        last={last}
        bounds={bounds}
        names={names}
        onChange={(day) => onChange({ to: day })}
        onRange={onChange}
      />
      <datalist id={names}>
        {rangeNames.map((range) => (
          <option key={range} value={range} />
        ))}
      </datalist>
    </>
  );
}

type DayFilterProps = {
  name: string;
  value: string | undefined;
  /** The days that it may be. */
  first: string;
  last: string;
  /** Those that both fields together may be. */
  bounds: DayRange;
  /** The id of the list of what else may be written here. */
  names: string;
  onChange: (day: string | undefined) => void;
  onRange: (range: DayRange) => void;
};

/**
 * A field for a day, written as everywhere in the console: a date picker would use the browser's own order. A day and the
 * name of a range are in force once they are complete; what could go on, as 2001 or 2001-03, once Enter is pressed.
 */
function DayFilter(props: DayFilterProps): ReactNode {
  const { name, value, first, last, bounds } = props;
  const [zone] = useZone();
  const [text, setText] = useState(value ?? '');
  const [refusal, setRefusal] = useState<string | null>(null);
  const sent = useRef(value);
  if (sent.current !== value) {
    sent.current = value;
    setText(value ?? '');
  }
  const fault = faultOfDay(text, first, last);
  const choose = (written: string) => {
    const meant = readRange(written, new Date());
    const range = within(meant, bounds);
    if (range === null) {
      const none = `None of its days is from ${bounds.from} to ${bounds.to}`;
      setRefusal(meant === null || isDay(written) ? faultOfDay(written, first, last) : none);
      return;
    }
    // The field shows the day that is in force now, which may be the same as before.
    setText(value ?? '');
    props.onRange(range);
  };
  return (
    <TextInput
      className={`relative ${classes.dayFilter}`}
      classNames={{ error: classes.dayFault }}
      aria-label={`${name} day${zone === 'utc' ? '' : ' by UTC'}, as 2026-03-05, or both: yesterday, 7d, 2026-q1`}
      placeholder={zone === 'utc' ? `${name} day` : `${name} (UTC)`}
      error={refusal ?? (text.length >= 10 && text !== value && !beginsRange(text) ? fault : null)}
      data-set={value !== undefined}
      autoComplete="off"
      list={props.names}
      maxLength={22}
      value={text}
      onChange={(event) => {
        const day = event.currentTarget.value;
        setText(day);
        setRefusal(null);
        if (isRangeName(day)) return choose(day);
        if (day !== '' && faultOfDay(day, first, last) !== null) return;
        const next = day === '' ? undefined : day;
        if (next === value) return;
        sent.current = next;
        props.onChange(next);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && text !== '' && text !== value) choose(text);
      }}
      // What was refused is not in force, and must not look as if it were.
      onBlur={() => {
        setText(value ?? '');
        setRefusal(null);
      }}
    />
  );
}

/** Whether a text may become a range when more of it is written. */
function beginsRange(text: string): boolean {
  return rangeNames.some((range) => range.startsWith(text.toLowerCase())) || text.includes('..');
}

/** The days of a range that may be chosen; null when there are none. */
function within(range: DayRange | null, { from, to }: DayRange): DayRange | null {
  if (range === null || range.to < from || range.from > to) return null;
  return {
    from: range.from < from ? from : range.from,
    to: range.to > to ? to : range.to,
  };
}

/** What is wrong with a day, as a sentence; null when nothing is. `first` and `last` are those that may be chosen. */
function faultOfDay(text: string, first: string, last: string): string | null {
  if (!isDay(text)) return 'Not a day such as 2026-03-05, nor 7d, 2026-03, 2026-q1';
  if (text < first) return `Not before ${first}`;
  if (text > last) return `Not after ${last}`;
  return null;
}

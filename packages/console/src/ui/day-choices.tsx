import { type ReactNode, useState } from 'react';
import { quarterOf } from '../api/values.ts';
import classes from './day-choices.module.css';
import { rangeText, readRange, within } from './day-range.ts';
import { type DayRange, type Days, earliestDay, latestDay, monthAfter, monthEnds } from './days.ts';
import gridClasses from './month-grid.module.css';
import { cellOf, MonthGrid } from './month-grid.tsx';

const quick = [
  ['today', 'Today'],
  ['yesterday', 'Yesterday'],
  ['2d', '2 d'],
  ['7d', '7 d'],
  ['month', 'This month'],
  ['quarter', 'This quarter'],
] as const;

type Choosing = {
  days: Days;
  bounds: DayRange;
  /** Called with a range as a field takes it, and whether that is all. */
  onChoose: (text: string, isDone: boolean) => void;
};

/** A range that has a name; it is pressed while it is in force. */
function Choice(props: Choosing & { text: string; name: string }): ReactNode {
  const range = within(readRange(props.text, new Date()), props.bounds);
  return (
    <button
      type="button"
      disabled={range === null}
      aria-pressed={range !== null && rangeText(range) === rangeText(props.days)}
      onClick={() => props.onChoose(props.text, true)}
    >
      {props.name}
    </button>
  );
}

/** The quarters that have data. */
export function Quarters({
  months,
  ...choosing
}: Choosing & { months: readonly string[] }): ReactNode {
  return (
    <fieldset className={`flex wrap gap-6 ${classes.named}`} aria-label="Quarters">
      {quartersOf(months).map((quarter) => (
        <Choice key={quarter} text={quarter} name={quarter.replace('-', ' ')} {...choosing} />
      ))}
    </fieldset>
  );
}

/** What is chosen instead of typed: ranges with a name, the quarters that have data, and a calendar. */
export function DayChoices({
  months,
  ...choosing
}: Choosing & { months: readonly string[] | undefined }): ReactNode {
  const { days, onChoose } = choosing;
  return (
    <div className={`stack gap-8 ${classes.choices} ${classes.named}`}>
      <fieldset className="flex wrap gap-6" aria-label="Quick choices">
        {quick.map(([text, name]) => (
          <Choice key={text} text={text} name={name} {...choosing} />
        ))}
      </fieldset>
      {months !== undefined && <Quarters months={months} {...choosing} />}
      <MonthChoice months={months} {...choosing} />
      <button type="button" disabled={rangeText(days) === ''} onClick={() => onChoose('', true)}>
        All days
      </button>
    </div>
  );
}

/** One month, in which a click chooses a day, and another click the days up to there. */
function MonthChoice({
  days,
  bounds,
  months,
  onChoose,
}: Parameters<typeof DayChoices>[0]): ReactNode {
  const { from = bounds.from, to = bounds.to } = days;
  const today = new Date().toISOString().slice(0, 10);
  const [latest = today] = [to, from, bounds.to, months?.at(-1)].filter(
    (day) => day !== undefined && day !== latestDay && day !== earliestDay,
  );
  const [month, setMonth] = useState(latest.slice(0, 7));
  const [begun, setBegun] = useState<string | null>(null);
  const [first, last] = monthEnds(month);
  const step = (count: number, name: string, sign: string) => {
    const next = monthAfter(month, count);
    return (
      <button
        type="button"
        aria-label={name}
        disabled={monthEnds(next)[1] < bounds.from || monthEnds(next)[0] > bounds.to}
        onClick={() => setMonth(next)}
      >
        {sign}
      </button>
    );
  };
  const choose = (range: DayRange | null) => {
    if (range === null) return onChoose('', false);
    const isDay = range.from === range.to;
    const [start, end] = [begun ?? range.from, range.from].sort();
    const whole = isDay && begun !== null ? { from: start, to: end } : range;
    setBegun(isDay && begun === null ? range.from : null);
    onChoose(rangeText(whole), !isDay || begun !== null);
  };
  return (
    <div>
      <div className="row between">
        {step(-12, 'A year earlier', '«')}
        {step(-1, 'A month earlier', '‹')}
        <button type="button" title="The whole month" onClick={() => onChoose(month, true)}>
          {month}
        </button>
        {step(1, 'A month later', '›')}
        {step(12, 'A year later', '»')}
      </div>
      <MonthGrid
        span={{ months: [month], from: first, to: last }}
        range={days.from === undefined && days.to === undefined ? null : { from, to }}
        label={`Days of ${month}`}
        onRange={choose}
      >
        {(day, state) => (
          <span
            key={day}
            {...cellOf(day, day, state)}
            className={`stack ${gridClasses.day}`}
            aria-disabled={day < bounds.from || day > bounds.to}
          >
            {Number(day.slice(8))}
          </span>
        )}
      </MonthGrid>
      <p className="muted small" role="status">
        {begun === null ? 'Days begin and end by UTC.' : `From ${begun}: choose the last day.`}
      </p>
    </div>
  );
}

const mostQuarters = 8;

/** The newest quarters of these months, which are in their order. */
export function quartersOf(months: readonly string[]): string[] {
  return [...new Set(months.map(quarterOf))].slice(-mostQuarters);
}

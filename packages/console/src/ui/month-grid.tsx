import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from 'react';
import type { DayRange } from './days.ts';
import { dayAfterKey, daysOfMonth, type MonthSpan, weekdayOf, weeksOf } from './month-days.ts';
import classes from './month-grid.module.css';

/** What the cell of a day is told of its state, and what it must take. */
export type DayState = { readonly isActive: boolean; readonly isChosen: boolean };

type MonthGridProps = {
  span: MonthSpan;
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  label: string;
  /** Whether one month alone is drawn large. */
  isLarge?: boolean;
  /** Months that have nothing to choose: those that follow on one another have one place. */
  folded?: ReadonlySet<string>;
  /** What stands beside the name of a month. */
  note?: (month: string) => ReactNode;
  onRange: (range: DayRange | null) => void;
  /** Draws the cell of a day. */
  children: (day: string, state: DayState) => ReactNode;
  /** What is said of the day that is looked at. */
  tip?: (day: string) => ReactNode;
};

/** Months with a row for each week and a cell for each day. Dragging, or a click with Shift, chooses a range. */
export function MonthGrid(props: MonthGridProps): ReactNode {
  const { span, range, folded = noMonths } = props;
  const grid = useRef<HTMLDivElement>(null);
  const [looked, setLooked] = useState<string | null>(null);
  const [active, setActive] = useState<string | null>(null);
  const [drag, setDrag] = useState<DayRange | null>(null);
  const start = useRef<string | null>(null);
  const latest = `${span.months.findLast((month) => !folded.has(month))}-01`;
  const wanted = active ?? range?.from ?? latest;
  const focusable = hasCell(wanted, span, folded) ? wanted : latest;
  const shown = drag ?? range;
  const choose = (day: string, isRange: boolean) => {
    setActive(day);
    if (isRange && range !== null)
      props.onRange(between(day < range.from ? range.to : range.from, day));
    else if (range?.from === day && range.to === day) props.onRange(null);
    else props.onRange({ from: day, to: day });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const day = dayOfTarget(event.target);
    if (day === undefined) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      return choose(day, event.shiftKey);
    }
    const next = dayInSight(event.key, day, span, folded);
    if (next === undefined) return;
    event.preventDefault();
    setActive(next);
    grid.current?.querySelector<HTMLElement>(`[data-day="${next}"]`)?.focus();
  };
  const onPointerDown = (event: PointerEvent) => {
    const day = dayOfTarget(event.target);
    if (day === undefined || event.button !== 0) return;
    start.current = day;
    // A finger stays with what it touched first, unless that lets it go.
    const touched = event.target as Element;
    if (touched.hasPointerCapture(event.pointerId)) touched.releasePointerCapture(event.pointerId);
    setDrag(event.shiftKey && range !== null ? null : { from: day, to: day });
  };
  const onPointerOver = (event: PointerEvent) => {
    const day = dayOfTarget(event.target);
    setLooked(day ?? null);
    if (day === undefined || start.current === null || event.buttons !== 1) return;
    if (start.current !== day || drag !== null) setDrag(between(start.current, day));
  };
  const onPointerUp = (event: PointerEvent) => {
    const day = dayOfTarget(event.target);
    const from = start.current;
    start.current = null;
    setDrag(null);
    if (day === undefined || from === null) return;
    if (from === day) choose(day, event.shiftKey);
    else props.onRange(between(from, day));
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset draws a frame of its own
    <div
      ref={grid}
      role="group"
      aria-label={props.label}
      className={`grid relative ${classes.months}`}
      data-large={props.isLarge}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerOver={onPointerOver}
      onPointerUp={onPointerUp}
      onPointerLeave={() => {
        start.current = null;
        setDrag(null);
        setLooked(null);
      }}
      onFocus={(event) => {
        const day = dayOfTarget(event.target);
        if (day !== undefined) setActive(day);
        setLooked(day ?? null);
      }}
      onBlur={() => setLooked(null)}
    >
      {linesOf(span.months, folded).map(([month, last]) =>
        last !== undefined ? (
          <p key={month} className="muted small">
            {month} … {last}: nothing
          </p>
        ) : (
          <Month key={month} month={month} note={props.note?.(month)}>
            {(day) =>
              props.children(day, {
                isActive: day === focusable,
                isChosen: shown !== null && day >= shown.from && day <= shown.to,
              })
            }
          </Month>
        ),
      )}
      {looked !== null && props.tip?.(looked)}
    </div>
  );
}

function hasCell(day: string, { from, to }: MonthSpan, folded: ReadonlySet<string>): boolean {
  return day >= from && day <= to && !folded.has(day.slice(0, 7));
}

/** The day to which a key moves, beyond months that are folded; undefined when there is none. */
function dayInSight(
  key: string,
  day: string,
  span: MonthSpan,
  folded: ReadonlySet<string>,
): string | undefined {
  const next = dayAfterKey(key, day, span);
  if (next === undefined || !folded.has(next.slice(0, 7))) return next;
  return next === day ? undefined : dayInSight(key, next, span, folded);
}

const noMonths: ReadonlySet<string> = new Set();

type Line = readonly [month: string, last?: string];

/** Each month, and in place of those that are folded and follow on one another the first with the last. */
function linesOf(months: readonly string[], folded: ReadonlySet<string>): Line[] {
  return months.flatMap((month, at): Line[] => {
    if (!folded.has(month)) return [[month]];
    if (folded.has(months[at - 1] ?? '')) return [];
    const next = months.findIndex((each, n) => n > at && !folded.has(each));
    return [[month, months[next === -1 ? months.length - 1 : next - 1] ?? month]];
  });
}

export const weekdays = [
  ['Mo', 'Monday'],
  ['Tu', 'Tuesday'],
  ['We', 'Wednesday'],
  ['Th', 'Thursday'],
  ['Fr', 'Friday'],
  ['Sa', 'Saturday'],
  ['Su', 'Sunday'],
] as const;

/** One month: the names of the weekdays, then its weeks. */
function Month(props: {
  month: string;
  note: ReactNode;
  children: (day: string) => ReactNode;
}): ReactNode {
  const { month, note, children } = props;
  return (
    <div className="shrink" data-month={month}>
      <p className={`row between small bold ${classes.name}`} aria-hidden="true">
        {month}
        <span className="muted">{note}</span>
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a table has no cells that are chosen by key */}
      <div role="grid" aria-label={month} aria-multiselectable className={`grid ${classes.grid}`}>
        <Row>
          {weekdays.map(([short, name]) => (
            // biome-ignore lint/a11y/useSemanticElements: names a column of the grid
            // biome-ignore lint/a11y/useFocusableInteractive: the cells take the focus
            <span
              key={short}
              role="columnheader"
              aria-label={name}
              className={`muted ${classes.weekday}`}
            >
              {short}
            </span>
          ))}
        </Row>
        {weeksOf(daysOfMonth(month)).map((days) => (
          <Row key={days[0]}>{days.map(children)}</Row>
        ))}
      </div>
    </div>
  );
}

function Row({ children }: { children: ReactNode }): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a row of the grid
    // biome-ignore lint/a11y/useFocusableInteractive: its cells take the focus
    <div role="row" className={classes.row}>
      {children}
    </div>
  );
}

/** What the cell of a day has, whatever it shows. */
export function cellOf(day: string, label: string, { isActive, isChosen }: DayState) {
  return {
    role: 'gridcell',
    // The visible number comes first in the label, because people who control the page by voice say that number.
    'aria-label': `${Number(day.slice(8))}, ${label}`,
    'data-day': day,
    style: day.endsWith('-01') ? { gridColumnStart: weekdayOf(day) + 1 } : undefined,
    tabIndex: isActive ? 0 : -1,
    'aria-selected': isChosen,
  };
}

function between(a: string, b: string): DayRange {
  return a < b ? { from: a, to: b } : { from: b, to: a };
}

function dayOfTarget(target: EventTarget): string | undefined {
  return (target as Element).closest<HTMLElement>('[data-day]')?.dataset.day;
}

import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import type { DayRow } from '../../api/types.ts';
import { type Shade, shadeOf, shortCount } from '../../ui/chart/scale.ts';
import { formatBytes, formatCount, formatShare } from '../../ui/format.ts';
import { countOf } from '../../ui/words.ts';
import { coverageText } from '../coverage.tsx';
import type { DayRange } from '../search.ts';
import classes from './calendar.module.css';
import {
  type CalendarSpan,
  dayAfterKey,
  daysOfMonth,
  weekdayOf,
  weeksOf,
} from './calendar-layout.ts';

export type CalendarProps = {
  span: CalendarSpan;
  rows: ReadonlyMap<string, DayRow>;
  /** The least counts of the shades. */
  ramp: readonly number[];
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  label: string;
  onRange: (range: DayRange | null) => void;
};

/**
 * Months with a row for each week and a cell for each day. The shade of a cell is the count, its outline says which
 * datasets have the day, and hatching marks the cold tier. A click chooses a day; dragging, or a click with Shift,
 * chooses a range. One month alone is drawn large, with its counts.
 */
export function Calendar(props: CalendarProps): ReactNode {
  const { span, range } = props;
  const grid = useRef<HTMLDivElement>(null);
  const [looked, setLooked] = useState<string | null>(null);
  const [active, setActive] = useState<string | null>(null);
  const [drag, setDrag] = useState<DayRange | null>(null);
  const start = useRef<string | null>(null);
  const latest = `${span.to.slice(0, 7)}-01`;
  const wanted = active ?? range?.from ?? latest;
  const focusable = wanted < span.from || wanted > span.to ? latest : wanted;
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
    const next = dayAfterKey(event.key, day, span);
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
  const isLarge = span.months.length === 1;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset draws a frame of its own
    <div
      ref={grid}
      role="group"
      aria-label={props.label}
      className={classes.months}
      data-large={isLarge}
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
      {span.months.map((month) => (
        <Month key={month} month={month}>
          {(day) => (
            <Day
              key={day}
              day={day}
              row={props.rows.get(day)}
              shade={shadeOf(props.rows.get(day)?.count ?? 0, props.ramp)}
              isLarge={isLarge}
              isActive={day === focusable}
              isChosen={shown !== null && day >= shown.from && day <= shown.to}
            />
          )}
        </Month>
      ))}
      {looked !== null && <DayTip day={looked} row={props.rows.get(looked)} />}
    </div>
  );
}

const weekdays = [
  ['Mo', 'Monday'],
  ['Tu', 'Tuesday'],
  ['We', 'Wednesday'],
  ['Th', 'Thursday'],
  ['Fr', 'Friday'],
  ['Sa', 'Saturday'],
  ['Su', 'Sunday'],
] as const;

/** One month: the names of the weekdays, then its weeks. */
function Month(props: { month: string; children: (day: string) => ReactNode }): ReactNode {
  const { month, children } = props;
  return (
    <div className="shrink" data-month={month}>
      <p className={classes.name} aria-hidden="true">
        {month}
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a table has no cells that are chosen by key */}
      <div role="grid" aria-label={month} aria-multiselectable className={classes.grid}>
        <Row>
          {weekdays.map(([short, name]) => (
            // biome-ignore lint/a11y/useSemanticElements: names a column of the grid
            // biome-ignore lint/a11y/useFocusableInteractive: the cells take the focus
            <span key={short} role="columnheader" aria-label={name} className={classes.weekday}>
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

type DayProps = {
  day: string;
  row: DayRow | undefined;
  shade: Shade;
  isLarge: boolean;
  isActive: boolean;
  isChosen: boolean;
};

const Day = memo(function Day(props: DayProps): ReactNode {
  const { day, row, shade, isLarge } = props;
  const count = row?.count ?? 0;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a cell of the grid
    <span
      role="gridcell"
      data-day={day}
      data-shade={shade}
      data-tier={row?.tier}
      data-training={partOf(row?.by_dataset.training ?? 0, count)}
      data-fine={partOf(row?.by_dataset.fine_tuning ?? 0, count)}
      className={classes.day}
      style={day.endsWith('-01') ? { gridColumnStart: weekdayOf(day) + 1 } : undefined}
      tabIndex={props.isActive ? 0 : -1}
      aria-selected={props.isChosen}
      // The visible number comes first in the label, because people who control the page by voice say that number.
      aria-label={`${Number(day.slice(8))}, ${dayText(day, row)}`}
    >
      {Number(day.slice(8))}
      {isLarge && count > 0 && <span className={classes.count}>{shortCount(count)}</span>}
    </span>
  );
});

/** How much of a day a dataset has. */
function partOf(part: number, count: number): 'none' | 'some' | 'all' {
  if (part === 0) return 'none';
  return part === count ? 'all' : 'some';
}

/** What is known about the day that is looked at, beside its cell. */
function DayTip({ day, row }: { day: string; row: DayRow | undefined }): ReactNode {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = tip.current;
    const box = element?.parentElement;
    const cell = box?.querySelector<HTMLElement>(`[data-day="${day}"]`);
    if (!element || !box || !cell) return;
    const [bounds, at] = [box.getBoundingClientRect(), cell.getBoundingClientRect()];
    const middle = at.left - bounds.left + at.width / 2 - element.offsetWidth / 2;
    const most = bounds.width - element.offsetWidth;
    element.style.left = `${Math.max(0, Math.min(most, middle))}px`;
    const above = at.top - bounds.top - element.offsetHeight - 6;
    // Above the cell, where the fingers and the pointer are not; in the first weeks below it.
    element.style.top = `${above < 0 ? at.bottom - bounds.top + 6 : above}px`;
  });
  const count = row?.count ?? 0;
  return (
    <div ref={tip} className={`float stack small nowrap ${classes.tip}`} aria-hidden="true">
      <strong>
        {weekdays[weekdayOf(day)]?.[1]}, {day}
      </strong>
      <span>
        {countOf(count, 'record')}
        {row !== undefined && count > 0 && ` · ${formatBytes(row.bytes)} · ${row.tier}`}
      </span>
      {row !== undefined && count > 0 && (
        <span>
          {formatShare(row.covered / count)} covered
          {row.covered > 0 &&
            `: training ${formatCount(row.by_dataset.training)}, fine-tuning ${formatCount(row.by_dataset.fine_tuning)}`}
        </span>
      )}
    </div>
  );
}

/** A day in words: `2001-03-05: 1,234 records, cold, 123 of 1,234 covered, …, 418 kB`. */
export function dayText(day: string, row: DayRow | undefined): string {
  if (row === undefined || row.count === 0) return `${day}: no records`;
  const records = `${formatCount(row.count)} ${row.count === 1 ? 'record' : 'records'}`;
  return `${day}: ${records}, ${row.tier}, ${coverageText(row)}, ${formatBytes(row.bytes)}`;
}

function between(a: string, b: string): DayRange {
  return a < b ? { from: a, to: b } : { from: b, to: a };
}

function dayOfTarget(target: EventTarget): string | undefined {
  return (target as Element).closest<HTMLElement>('[data-day]')?.dataset.day;
}

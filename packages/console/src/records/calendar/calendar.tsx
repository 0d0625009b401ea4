import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  useRef,
  useState,
} from 'react';
import type { DayRow } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { coverageText } from '../coverage.tsx';
import type { DayRange } from '../search.ts';
import classes from './calendar.module.css';
import { type CalendarSpan, dayAfterKey, daysOfMonth, shadeOf } from './calendar-layout.ts';

export type CalendarProps = {
  span: CalendarSpan;
  rows: ReadonlyMap<string, DayRow>;
  /** Number of records on the busiest day. */
  most: number;
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  label: string;
  onRange: (range: DayRange | null) => void;
  /** Called with the day that is pointed at or has the focus, or with null. */
  onLook: (day: string | null) => void;
};

/**
 * A calendar with a row for each month and a cell for each day. The shade of a cell is the count, two lines at its foot
 * are the shares of the datasets, and a ring marks the cold tier. A click chooses a day; dragging, or a click with
 * Shift, chooses a range.
 */
export function Calendar(props: CalendarProps): ReactNode {
  const { span, range, onLook } = props;
  const grid = useRef<HTMLDivElement>(null);
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
    setDrag(event.shiftKey && range !== null ? null : { from: day, to: day });
  };
  const onPointerOver = (event: PointerEvent) => {
    const day = dayOfTarget(event.target);
    onLook(day ?? null);
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
    // biome-ignore lint/a11y/useSemanticElements: a table has no cells that are chosen by key
    <div
      ref={grid}
      role="grid"
      aria-label={props.label}
      aria-multiselectable
      className={classes.grid}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerOver={onPointerOver}
      onPointerUp={onPointerUp}
      onPointerLeave={() => {
        start.current = null;
        setDrag(null);
        onLook(null);
      }}
      onFocus={(event) => {
        const day = dayOfTarget(event.target);
        if (day !== undefined) setActive(day);
        onLook(day ?? null);
      }}
      onBlur={() => onLook(null)}
    >
      {span.months.map((month) => (
        // biome-ignore lint/a11y/useSemanticElements: a row of the grid
        // biome-ignore lint/a11y/useFocusableInteractive: its cells take the focus
        <div key={month} role="row" className={classes.month}>
          {/* biome-ignore lint/a11y/useSemanticElements: names the row of the grid */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: its cells take the focus */}
          <span role="rowheader" className={classes.name}>
            {month}
          </span>
          {daysOfMonth(month).map((day) => (
            <Day
              key={day}
              day={day}
              row={props.rows.get(day)}
              most={props.most}
              isActive={day === focusable}
              isChosen={shown !== null && day >= shown.from && day <= shown.to}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

type DayProps = {
  day: string;
  row: DayRow | undefined;
  most: number;
  isActive: boolean;
  isChosen: boolean;
};

const Day = memo(function Day({ day, row, most, isActive, isChosen }: DayProps): ReactNode {
  const text = dayText(day, row);
  const shares = {
    '--training': shareOf(row?.by_dataset.training ?? 0, row?.count ?? 0),
    '--fine': shareOf(row?.by_dataset.fine_tuning ?? 0, row?.count ?? 0),
  } as CSSProperties;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a cell of the grid
    <span
      role="gridcell"
      data-day={day}
      data-shade={shadeOf(row?.count ?? 0, most)}
      data-tier={row?.tier}
      className={classes.day}
      tabIndex={isActive ? 0 : -1}
      aria-selected={isChosen}
      // The visible number comes first in the label, because people who control the page by voice say that number.
      aria-label={`${Number(day.slice(8))}, ${text}`}
      title={text}
      style={shares}
    >
      {Number(day.slice(8))}
    </span>
  );
});

/** The width of a line. A few records still give a visible line, and only all of them a full one. */
function shareOf(part: number, count: number): string {
  if (part === 0) return '0%';
  if (part === count) return '100%';
  return `${Math.min(90, Math.max(12, Math.round((100 * part) / count)))}%`;
}

/** A day in words: `2001-03-05: 1,234 records, cold, 123 of 1,234 covered, …`. */
export function dayText(day: string, row: DayRow | undefined): string {
  if (row === undefined || row.count === 0) return `${day}: no records`;
  const records = `${formatCount(row.count)} ${row.count === 1 ? 'record' : 'records'}`;
  return `${day}: ${records}, ${row.tier}, ${coverageText(row)}`;
}

function between(a: string, b: string): DayRange {
  return a < b ? { from: a, to: b } : { from: b, to: a };
}

function dayOfTarget(target: EventTarget): string | undefined {
  return (target as Element).closest<HTMLElement>('[data-day]')?.dataset.day;
}

import { memo, type ReactNode, useLayoutEffect, useMemo, useRef } from 'react';
import type { DayRow } from '../../api/types.ts';
import { type Shade, shadeOf, shortCount } from '../../ui/chart/scale.ts';
import type { DayRange } from '../../ui/days.ts';
import { formatBytes, formatCount, formatShare } from '../../ui/format.ts';
import { weekdayOf } from '../../ui/month-days.ts';
import grid from '../../ui/month-grid.module.css';
import { cellOf, type DayState, MonthGrid, weekdays } from '../../ui/month-grid.tsx';
import { countOf } from '../../ui/words.ts';
import { coverageText } from '../coverage.tsx';
import classes from './calendar.module.css';
import type { CalendarSpan } from './calendar-layout.ts';

type CalendarProps = {
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
 * The days of months: the shade of a cell is the count, its outline says which datasets have the day, and hatching marks the
 * cold tier. One month alone is drawn large, with its counts.
 */
export function Calendar({ rows, ramp, ...props }: CalendarProps): ReactNode {
  const { span, range } = props;
  const isLarge = span.months.length === 1;
  const folded = useMemo(() => emptyMonths(span.months, rows, range), [span, rows, range]);
  const counts = useMemo(() => countByMonth(rows), [rows]);
  return (
    <MonthGrid
      {...props}
      isLarge={isLarge}
      folded={folded}
      note={(month) => shortCount(counts.get(month) ?? 0)}
      tip={(day) => <DayTip day={day} row={rows.get(day)} />}
    >
      {(day, state) => (
        <Day
          key={day}
          {...state}
          day={day}
          row={rows.get(day)}
          shade={shadeOf(rows.get(day)?.count ?? 0, ramp)}
          isLarge={isLarge}
        />
      )}
    </MonthGrid>
  );
}

/**
 * The months without records, where several follow on one another and none is where the chosen days begin or end. There
 * are none before anything was read.
 */
export function emptyMonths(
  months: readonly string[],
  rows: ReadonlyMap<string, Pick<DayRow, 'count'>>,
  range: DayRange | null,
): Set<string> {
  const full = new Set([range?.from, range?.to].map((day) => day?.slice(0, 7)));
  for (const [day, { count }] of rows) if (count > 0) full.add(day.slice(0, 7));
  const isEmpty = (at: number) => months[at] !== undefined && !full.has(months[at]);
  const empty = months.filter((_, at) => isEmpty(at) && (isEmpty(at - 1) || isEmpty(at + 1)));
  return new Set(empty.length === months.length ? [] : empty);
}

function countByMonth(rows: ReadonlyMap<string, DayRow>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [day, { count }] of rows) {
    const month = day.slice(0, 7);
    counts.set(month, (counts.get(month) ?? 0) + count);
  }
  return counts;
}

type DayProps = DayState & { day: string; row: DayRow | undefined; shade: Shade; isLarge: boolean };

const Day = memo(function Day(props: DayProps): ReactNode {
  const { day, row, shade, isLarge } = props;
  const count = row?.count ?? 0;
  return (
    <span
      {...cellOf(day, dayText(day, row), props)}
      data-shade={shade}
      data-tier={row?.tier}
      data-training={partOf(row?.by_dataset.training ?? 0, count)}
      data-fine={partOf(row?.by_dataset.fine_tuning ?? 0, count)}
      className={`stack ${grid.day} ${classes.day}`}
    >
      {Number(day.slice(8))}
      {isLarge && count > 0 && <span className={`bold ${classes.count}`}>{shortCount(count)}</span>}
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
function dayText(day: string, row: DayRow | undefined): string {
  if (row === undefined || row.count === 0) return `${day}: no records`;
  const records = `${formatCount(row.count)} ${row.count === 1 ? 'record' : 'records'}`;
  return `${day}: ${records}, ${row.tier}, ${coverageText(row)}, ${formatBytes(row.bytes)}`;
}

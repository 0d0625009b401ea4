import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { DayRow } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { countOf } from '../../ui/words.ts';
import { TimeChart } from '../facts/node-chart.tsx';
import { type DayRange, type NodePath, namesOf } from '../search.ts';
import classes from './calendar.module.css';
import { Calendar, dayText } from './calendar.tsx';
import {
  type CalendarSpan,
  type DaysSum,
  seriesOf,
  sumDays,
  yearsShown,
} from './calendar-layout.ts';

export type DaysViewProps = {
  path: NodePath;
  /** Null when nothing is stored; undefined while that is not known. */
  span: CalendarSpan | null | undefined;
  days: UseQueryResult<DayRow[]>;
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  tagButton: ReactNode;
  onRange: (range: DayRange | null) => void;
  onYear: (year: number) => void;
  onRecords: () => void;
};

/** The view of a node by days: a bar chart over time, and a calendar in which days are chosen. */
export function DaysView(props: DaysViewProps): ReactNode {
  const { path, span, days, range } = props;
  const failure = useFailure(days);
  const [looked, setLooked] = useState<string | null>(null);
  const rows = useMemo(() => new Map((days.data ?? []).map((row) => [row.day, row])), [days.data]);
  const sum = useMemo(() => sumDays(days.data ?? []), [days.data]);
  const bars = useMemo(
    () => (!span || days.data === undefined ? [] : seriesOf(span, rows)),
    [span, rows, days.data],
  );
  const scroller = useScrolled(span);
  if (span === undefined) return <div className={classes.view} aria-busy="true" />;
  if (span === null) {
    return <p className={classes.line}>No day has records here.</p>;
  }
  if (failure !== null && days.data === undefined) {
    return <FailurePanel error={failure} onRetry={() => void days.refetch()} />;
  }
  const name = namesOf(path).join(' › ');
  return (
    <div className={classes.view} aria-busy={days.data === undefined}>
      <div className={classes.chart}>
        {bars.length > 0 && (
          <TimeChart
            bars={bars}
            of="day"
            resetKey={name}
            onChoose={(day) => props.onRange({ from: day, to: day })}
          />
        )}
      </div>
      <div className={classes.line}>
        <p className={classes.look}>{lineText(looked, range, rows, days.data ?? [])}</p>
        {range !== null && (
          <>
            <Button onClick={props.onRecords}>SHOW RECORDS</Button>
            {props.tagButton}
            <Button variant="subtle" onClick={() => props.onRange(null)}>
              All days
            </Button>
          </>
        )}
      </div>
      <div ref={scroller} className={classes.scroll}>
        <p className="visually-hidden">{summaryText(name, span, sum)}</p>
        <Calendar
          span={span}
          rows={rows}
          most={sum.most?.count ?? 0}
          range={range}
          label={`Days of ${name}`}
          onRange={props.onRange}
          onLook={setLooked}
        />
      </div>
      <Legend span={span} onYear={props.onYear} />
    </div>
  );
}

/** Scrolls the calendar to the chosen days, or else to the latest ones; keys start there, too. */
function useScrolled(span: CalendarSpan | null | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another span begins anew
  useLayoutEffect(() => {
    const box = scroller.current;
    const month = box?.querySelector('[data-day][tabindex="0"]')?.parentElement;
    if (!box || !month) return;
    // scrollIntoView would also scroll the page on a narrow screen.
    box.scrollTop = month.offsetTop - box.clientHeight / 2;
  }, [span]);
  return scroller;
}

/** The line below the calendar: about the day that is pointed at, else about the chosen range, else how to choose. */
function lineText(
  looked: string | null,
  range: DayRange | null,
  rows: ReadonlyMap<string, DayRow>,
  days: readonly DayRow[],
): ReactNode {
  if (looked !== null) return dayText(looked, rows.get(looked));
  if (range === null) {
    return (
      <span className={classes.muted}>
        Click a day, or drag over days, to see their records or tag them.
      </span>
    );
  }
  const { count, covered, days: full } = sumDays(days, range.from, range.to);
  const name = range.from === range.to ? range.from : `${range.from} … ${range.to}`;
  return (
    <>
      <strong>{name}</strong> · {formatCount(count)} records on {countOf(full, 'day')},{' '}
      {formatCount(covered)} covered
    </>
  );
}

function summaryText(name: string, span: CalendarSpan, sum: DaysSum): string {
  const busiest =
    sum.most === null ? '' : `, most on ${sum.most.day}: ${formatCount(sum.most.count)}`;
  return `${name} from ${span.from} to ${span.to}: ${formatCount(sum.count)} records on ${formatCount(sum.days)} days${busiest}. ${formatCount(sum.covered)} are covered; ${formatCount(sum.cold)} days are cold.`;
}

/** Explains the shades, lines and rings of the calendar. */
function Legend({
  span,
  onYear,
}: {
  span: CalendarSpan;
  onYear: (year: number) => void;
}): ReactNode {
  return (
    <div className={classes.legend}>
      <span>
        fewer
        {[1, 2, 3, 4, 5].map((shade) => (
          <span key={shade} className={`${classes.day} ${classes.sample}`} data-shade={shade} />
        ))}
        more records
      </span>
      <span>
        <span className={classes.training} />
        training
      </span>
      <span>
        <span className={classes.fine} />
        fine-tuning
      </span>
      <span>
        <span className={classes.ring} />
        cold
      </span>
      <span className={classes.spring} />
      {(span.hasEarlier || span.hasLater) && (
        <>
          <Button disabled={!span.hasEarlier} onClick={() => onYear(span.year - yearsShown)}>
            ‹ EARLIER
          </Button>
          <Button disabled={!span.hasLater} onClick={() => onYear(span.year + yearsShown)}>
            LATER ›
          </Button>
        </>
      )}
    </div>
  );
}

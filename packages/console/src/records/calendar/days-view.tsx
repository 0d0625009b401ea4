import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useLayoutEffect, useMemo, useRef } from 'react';
import type { DayRow } from '../../api/types.ts';
import { BarChart } from '../../ui/chart/bar-chart.tsx';
import { rampOf, shadeOf, shortCount } from '../../ui/chart/scale.ts';
import type { DayRange } from '../../ui/days.ts';
import { formatCount } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { countOf, pathText } from '../../ui/words.ts';
import { UtcDays } from '../../ui/zone-switch.tsx';
import { TagButton } from '../node-actions.tsx';
import { type NodePath, namesOf } from '../search.ts';
import classes from './calendar.module.css';
import { Calendar } from './calendar.tsx';
import type { CalendarSpan } from './calendar-layout.ts';
import { type DaysSum, seriesOf, sumDays } from './day-sums.ts';

type DaysViewProps = {
  path: NodePath;
  /** Null when nothing is stored; undefined while that is not known. */
  span: CalendarSpan | null | undefined;
  days: UseQueryResult<DayRow[]>;
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  onTag: () => void;
  onRange: (range: DayRange | null) => void;
  onYear: (year: number) => void;
  onRecords: () => void;
};

/** The view of a node by days: a bar chart over time, and a calendar in which days are chosen. */
export function DaysView(props: DaysViewProps): ReactNode {
  const { path, span, days, range } = props;
  const failure = useFailure(days);
  const rows = useMemo(() => new Map((days.data ?? []).map((row) => [row.day, row])), [days.data]);
  const sum = useMemo(() => sumDays(days.data ?? []), [days.data]);
  const most = sum.most?.count ?? 0;
  const ramp = useMemo(() => rampOf(most), [most]);
  const bars = useMemo(
    () => (!span || days.data === undefined ? [] : seriesOf(span, rows)),
    [span, rows, days.data],
  );
  const scroller = useScrolled(span);
  if (span === undefined) return <div className="view" aria-busy="true" />;
  if (span === null) {
    return (
      <p className={`row wrap flex-none line-under ${classes.line}`}>No day has records here.</p>
    );
  }
  if (failure !== null && days.data === undefined) {
    return <FailurePanel error={failure} onRetry={() => void days.refetch()} />;
  }
  const name = pathText(namesOf(path));
  return (
    <div className="view" aria-busy={days.data === undefined}>
      <div className="chart-row">
        {bars.length > 0 && (
          <BarChart
            label={`Records per day of ${name}`}
            bars={bars}
            range={range}
            onRange={props.onRange}
          />
        )}
      </div>
      <div className={`row wrap flex-none line-under ${classes.line}`}>
        <p className={`grow clip ${classes.look}`}>{lineText(range, days.data ?? [])}</p>
        <UtcDays />
        {range !== null && (
          <>
            <Button onClick={props.onRecords}>SHOW RECORDS</Button>
            <TagButton text="TAG these days…" onTag={props.onTag} />
            <Button variant="subtle" onClick={() => props.onRange(null)}>
              All days
            </Button>
          </>
        )}
      </div>
      {span.years.length > 1 && <Years span={span} onYear={props.onYear} />}
      <div ref={scroller} className={`scroll relative ${classes.scroll}`}>
        <p className="visually-hidden">{summaryText(name, span, sum)}</p>
        <Calendar
          span={span}
          rows={rows}
          ramp={ramp}
          range={range}
          label={`Days of ${name}`}
          onRange={props.onRange}
        />
      </div>
      <Legend ramp={ramp} />
    </div>
  );
}

/** Scrolls the calendar to the chosen days, or else to the latest ones; keys start there, too. */
function useScrolled(span: CalendarSpan | null | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another span begins anew
  useLayoutEffect(() => {
    const box = scroller.current;
    const month = box
      ?.querySelector('[data-day][tabindex="0"]')
      ?.closest<HTMLElement>('[data-month]');
    if (!box || !month) return;
    // scrollIntoView would also scroll the page on a narrow screen.
    box.scrollTop = month.offsetTop - box.clientHeight / 2;
  }, [span]);
  return scroller;
}

/** The line above the calendar: about the chosen range, else how to choose. */
function lineText(range: DayRange | null, days: readonly DayRow[]): ReactNode {
  if (range === null) {
    return (
      <span className="muted">
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

/** The years with records in one row, each with how much it has of the fullest; those that are shown come in sight. */
function Years({
  span,
  onYear,
}: Pick<DaysViewProps, 'onYear'> & { span: CalendarSpan }): ReactNode {
  const row = useRef<HTMLFieldSetElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another span begins anew
  useLayoutEffect(() => {
    const shown = row.current?.querySelector<HTMLElement>('[aria-pressed="true"]');
    if (row.current && shown)
      row.current.scrollLeft = shown.offsetLeft - row.current.offsetLeft - 16;
  }, [span]);
  const most = Math.max(1, ...span.years.map(({ count }) => count ?? 0));
  return (
    <fieldset
      ref={row}
      className={`flex gap-6 flex-none line-under ${classes.years}`}
      aria-label="Years"
    >
      {span.years.map(({ year, count }) => (
        <Button
          key={year}
          size="compact-xs"
          aria-pressed={span.months.some((month) => month.startsWith(`${year}`))}
          style={{ '--part': (count ?? 0) / most }}
          onClick={() => onYear(year)}
        >
          {year}
          {count !== null && ` · ${shortCount(count)}`}
        </Button>
      ))}
    </fieldset>
  );
}

/** Explains the shades, outlines and hatching of the calendar. */
function Legend({ ramp }: { ramp: readonly number[] }): ReactNode {
  return (
    <div className={`row wrap flex-none muted small line-over ${classes.legend}`}>
      {ramp.length > 0 && (
        <span>
          {ramp.map((least, index) => (
            <span key={least} className={classes.step} data-shade={shadeOf(least, ramp)}>
              {formatCount(least)}
              {index === ramp.length - 1 && '+'}
            </span>
          ))}
          records
        </span>
      )}
      <span>
        <span className={classes.sample} data-training="all" />
        training
      </span>
      <span>
        <span className={classes.sample} data-fine="all" />
        fine-tuning
      </span>
      <span>
        <span className={classes.sample} data-training="some" />
        in part
      </span>
      <span>
        <span className={classes.sample} data-shade="2" data-tier="cold" />
        cold
      </span>
    </div>
  );
}

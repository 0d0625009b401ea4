import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { api } from '../api/client.ts';
import type { MonthSum } from '../api/types.ts';
import { BarChart } from './chart/bar-chart.tsx';
import { type Bar, breakAxis, SeriesLegend } from './chart/bar-picture.tsx';
import { monthsBetween } from './days.ts';
import { formatBytes } from './format.ts';
import { FailurePanel, useFailure } from './freshness.tsx';
import { ViewSwitch } from './list-page.tsx';
import classes from './month-sums.module.css';
import { calmPollMillis, useRead } from './poll.tsx';

/** Reads the records of each month, hot and cold, of all tenants that the session may see. */
export function useMonthSums(): UseQueryResult<MonthSum[]> {
  const read = async (signal: AbortSignal) =>
    (await api.get<{ data: MonthSum[] }>('/stats/records', {}, signal)).data;
  return useRead(['records', 'month-sums'], read, { everyMillis: calmPollMillis });
}

const series = [
  { name: 'cold', tone: 'cold' },
  { name: 'hot', tone: 'hot' },
] as const;

/** All records by month, hot on cold, by their number or their bytes. `onOpen` is called with a month that is chosen. */
export function MonthSums(props: { height: number; onOpen?: (month: string) => void }): ReactNode {
  const { height, onOpen } = props;
  const sums = useMonthSums();
  const [isBytes, setBytes] = useState(false);
  const bars = useMemo(() => barsOf(sums.data ?? [], isBytes), [sums.data, isBytes]);
  const failure = useFailure(sums);
  if (sums.data?.length === 0) return null;
  return (
    <section className={classes.sums} aria-label="All records by month">
      <div className={`row wrap below-4 ${classes.head}`}>
        <h2 className="figure-name">{isBytes ? 'BYTES' : 'RECORDS'} PER MONTH</h2>
        <SeriesLegend series={series.toReversed()} />
        <ViewSwitch
          label="What the bars count"
          views={['records', 'bytes']}
          view={isBytes ? 'bytes' : 'records'}
          onView={(unit) => setBytes(unit === 'bytes')}
        />
      </div>
      {sums.data === undefined && failure !== null && (
        <FailurePanel error={failure} onRetry={() => void sums.refetch()} />
      )}
      <div style={{ minHeight: height }} aria-busy={sums.data === undefined && failure === null}>
        {bars.length > 0 && (
          <BarChart
            label={isBytes ? 'Bytes per month' : 'Records per month'}
            bars={bars}
            series={series}
            height={height}
            onOpen={onOpen}
            {...(isBytes && { say: formatBytes, tick: formatBytes })}
          />
        )}
      </div>
    </section>
  );
}

/** A bar for each month from the first to the last, also for those without records, except for long stretches of them. */
export function barsOf(sums: readonly MonthSum[], isBytes: boolean): Bar[] {
  const byMonth = new Map(sums.map((sum) => [sum.month, sum]));
  const [first, last] = [sums[0], sums.at(-1)];
  if (first === undefined || last === undefined) return [];
  const bars = monthsBetween(first.month, last.month).map((month) => {
    const sum = byMonth.get(month);
    const parts = isBytes ? [sum?.cold_bytes, sum?.hot_bytes] : [sum?.cold_count, sum?.hot_count];
    return { name: month, parts: parts.map((part) => part ?? 0) };
  });
  return breakAxis(bars);
}

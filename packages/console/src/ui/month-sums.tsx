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

export async function readMonthSums(
  tenant: string | undefined,
  signal: AbortSignal,
): Promise<MonthSum[]> {
  return (await api.get<{ data: MonthSum[] }>('/stats/records', { tenant }, signal)).data;
}

/** Reads the records of each month, hot and cold, of a tenant, or of all that the session may see. */
export function useMonthSums(tenant?: string): UseQueryResult<MonthSum[]> {
  const read = (signal: AbortSignal) => readMonthSums(tenant, signal);
  return useRead(['records', 'month-sums', tenant], read, { everyMillis: calmPollMillis });
}

const series = [
  { name: 'cold', tone: 'cold' },
  { name: 'hot', tone: 'hot' },
] as const;

type MonthSumsProps = {
  /** The tenant; by default they are of all tenants. */
  tenant?: string;
  height: number;
  onOpen?: (month: string) => void;
};

/** Records by month, hot on cold, by their number or their bytes. `onOpen` is called with a month that is chosen. */
export function MonthSums({ tenant, height, onOpen }: MonthSumsProps): ReactNode {
  const sums = useMonthSums(tenant);
  const [isBytes, setBytes] = useState(false);
  const bars = useMemo(() => barsOf(sums.data ?? [], isBytes), [sums.data, isBytes]);
  const failure = useFailure(sums);
  if (sums.data?.length === 0) return null;
  return (
    <section
      className={classes.sums}
      data-one={tenant !== undefined}
      aria-label={`${tenant === undefined ? 'All' : 'Its'} records by month`}
    >
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

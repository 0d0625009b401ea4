import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { BarChart, type NameRange } from '../../ui/chart/bar-chart.tsx';
import { UtcDays } from '../../ui/zone-switch.tsx';
import { type DayRange, type NodePath, namesOf } from '../search.ts';
import { useMonths } from './use-facts.ts';

type NodeChartProps = {
  path: NodePath;
  facts: UseQueryResult<DatasetRow | null>;
  /** The chosen days; null when none are chosen. */
  range: DayRange | null;
  onChoose: (path: NodePath) => void;
  /** Called with the chosen days; null means all days of the node. */
  onRange: (range: NameRange | null, by: 'pointer' | 'key') => void;
};

/** The number of records of a node over time: by day for a month, by month for a store or a tenant. */
export function NodeChart(props: NodeChartProps): ReactNode {
  const { path, facts, range, onChoose, onRange } = props;
  const months = useMonths(path, facts.data?.digest);
  const { tenant, store, month } = path;
  const days = facts.data?.days;
  const bars = useMemo(
    () =>
      month === undefined
        ? (months.data ?? []).map(({ name, count }) => ({ name, parts: [count] }))
        : (days ?? []).map((count, index) => ({ name: dayOf(month, index), parts: [count] })),
    [month, days, months.data],
  );
  if (facts.data === null) return null;
  return (
    <div className="chart-row">
      {month === undefined && months.data === null && (
        <p className="muted">Too many months to draw: choose a store.</p>
      )}
      {bars.length > 0 && month === undefined && (
        <BarChart
          label={`Records per month of ${namesOf(path).join(' › ')}`}
          bars={bars}
          onOpen={
            store === undefined ? undefined : (name) => onChoose({ tenant, store, month: name })
          }
        />
      )}
      {bars.length > 0 && month !== undefined && (
        <BarChart
          label={`Records per day of ${month}`}
          bars={bars}
          range={range}
          onRange={onRange}
        />
      )}
      {bars.length > 0 && <UtcDays />}
    </div>
  );
}

function dayOf(month: string, index: number): string {
  return `${month}-${String(index + 1).padStart(2, '0')}`;
}

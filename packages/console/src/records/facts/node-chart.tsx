import type { UseQueryResult } from '@tanstack/react-query';
import { CatchBoundary } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { lazyPiece } from '../../ui/lazy-part.tsx';
import type { NodePath } from '../search.ts';
import { DayStrip } from './day-strip.tsx';
import classes from './facts.module.css';
import type { TimeChartProps } from './time-chart.tsx';
import { useMonths } from './use-facts.ts';

const LazyChart = lazyPiece('records/time-chart', loadTimeChart, <NoChart />);

type NodeChartProps = {
  path: NodePath;
  facts: UseQueryResult<DatasetRow | null>;
  from: string | undefined;
  to: string | undefined;
  onChoose: (path: NodePath) => void;
  onDays: (from: string | undefined, to: string | undefined) => void;
};

/** Records of a node over time: the days of a month, the months of a store or a tenant. */
export function NodeChart(props: NodeChartProps): ReactNode {
  const { path, facts, from, to, onChoose, onDays } = props;
  const months = useMonths(path, facts.data?.digest);
  const { store, month } = path;
  if (facts.data === null) return null;
  if (month !== undefined) {
    const days = facts.data?.days;
    return (
      <div className={classes.chartRow}>
        {days && <DayStrip month={month} days={days} from={from} to={to} onChoose={onDays} />}
      </div>
    );
  }
  const choose = (chosen: string) => {
    if (store !== undefined) onChoose({ tenant: path.tenant, store, month: chosen });
  };
  return (
    <div className={classes.chartRow}>
      {months.data === null && (
        <p className={classes.muted}>Too many months to draw: choose a store.</p>
      )}
      {months.data && months.data.length > 0 && (
        <TimeChart
          bars={months.data}
          of="month"
          resetKey={path.tenant}
          {...(store === undefined ? {} : { onChoose: choose })}
        />
      )}
    </div>
  );
}

/** Its library is loaded when it is first shown. Without its chart a page still does what one came for. */
export function TimeChart({
  resetKey,
  ...props
}: TimeChartProps & { resetKey: string }): ReactNode {
  return (
    <CatchBoundary getResetKey={() => resetKey} errorComponent={NoChart}>
      <LazyChart {...props} />
    </CatchBoundary>
  );
}

function NoChart(): ReactNode {
  return <p className={classes.muted}>The chart cannot be drawn. Load the page again.</p>;
}

/**
 * The chart's library asks for number formats of the browser's language as it loads, and fails on the
 * one of a browser that was started without a locale (`en-US@posix`).
 */
async function loadTimeChart() {
  if (!isLanguage(navigator.language)) {
    Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
  }
  return (await import('./time-chart.tsx')).TimeChart;
}

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}

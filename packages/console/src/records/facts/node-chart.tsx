import type { UseQueryResult } from '@tanstack/react-query';
import { CatchBoundary } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { lazyPiece } from '../../ui/lazy-part.tsx';
import type { NodePath } from '../search.ts';
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
  /** Called with the chosen days; both undefined means all days of the node. */
  onDays: (from: string | undefined, to: string | undefined) => void;
};

/** The number of records of a node over time: by day for a month, by month for a store or a tenant. */
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

/**
 * The chart over time. Its library is loaded when the first chart is shown. If it cannot be loaded, the page works
 * without the chart.
 */
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
 * Loads the chart. Its library asks for the number formats of the browser's language as it loads, and fails on the
 * language of a browser that was started without a locale (`en-US@posix`).
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

type DayStripProps = {
  month: string;
  /** Number of records on each day, from the 1st on. */
  days: readonly number[];
  from: string | undefined;
  to: string | undefined;
  onChoose: (from: string | undefined, to: string | undefined) => void;
};

/** A month with a bar for each day. A click on a bar chooses its day; with Shift, the range up to it. */
function DayStrip({ month, days, from, to, onChoose }: DayStripProps): ReactNode {
  const strip = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const most = Math.max(1, ...days);
  const focusBar = (index: number) => {
    const next = Math.min(days.length - 1, Math.max(0, index));
    setActive(next);
    strip.current?.querySelectorAll('button')[next]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowRight: active + 1,
      ArrowLeft: active - 1,
      Home: 0,
      End: days.length - 1,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    focusBar(next);
  };
  const choose = (index: number, isRange: boolean) => {
    const day = dayOf(month, index);
    setActive(index);
    if (isRange && from !== undefined) {
      onChoose(day < from ? day : from, day < from ? (to ?? from) : day);
    } else if (from === day && to === day) onChoose(undefined, undefined);
    else onChoose(day, day);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset draws a frame of its own
    <div
      ref={strip}
      className={classes.strip}
      role="group"
      aria-label={`Records per day of ${month}`}
      onKeyDown={onKeyDown}
    >
      {days.map((count, index) => {
        const day = dayOf(month, index);
        const isChosen =
          (from !== undefined || to !== undefined) && day >= (from ?? '') && day <= (to ?? '9');
        return (
          <button
            key={day}
            type="button"
            className={classes.day}
            tabIndex={index === active ? 0 : -1}
            aria-pressed={isChosen}
            // The number that is seen comes first: who speaks to the page says that.
            aria-label={`${index + 1}, ${day}: ${formatCount(count)} records`}
            title={`${day} · ${formatCount(count)} records`}
            onClick={(event) => choose(index, event.shiftKey)}
          >
            <svg viewBox="0 0 10 48" preserveAspectRatio="none" aria-hidden="true">
              <rect y={48 - heightOf(count, most)} width="10" height={heightOf(count, most)} />
            </svg>
            <span aria-hidden="true">{index + 1}</span>
          </button>
        );
      })}
    </div>
  );
}

/** The height of a bar; a few records still give a visible one. */
function heightOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(1.5, (48 * count) / most);
}

function dayOf(month: string, index: number): string {
  return `${month}-${String(index + 1).padStart(2, '0')}`;
}

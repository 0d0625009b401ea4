import { useComputedColorScheme } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatCount } from '../../ui/format.ts';
import classes from './facts.module.css';

const heightPx = 96;

/** One bar: the name of its month or day, and its count. */
export type Bar = { readonly name: string; readonly count: number };

export type TimeChartProps = {
  bars: readonly Bar[];
  /** Whether a bar stands for a month or a day. */
  of: 'month' | 'day';
  onChoose?: (name: string) => void;
};

/** At most this many rows are in the table, more than anyone reads; the calendar has all days. */
const mostInTable = 400;

/**
 * Records by month or day as bars on a canvas. An invisible slider over it takes the keys: ← and → go from bar to bar,
 * and a screen reader reads the label as the slider's value. A table has the same numbers.
 */
export function TimeChart({ bars, of, onChoose }: TimeChartProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const keys = useRef<HTMLInputElement>(null);
  const chart = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme();
  const last = bars.length - 1;
  const [wanted, setAt] = useState(last);
  const at = Math.min(wanted, last);
  const point = bars[at];
  const choose = useRef(onChoose);
  choose.current = onChoose;
  const moveCursor = (index: number | null) => {
    const plot = chart.current;
    const left = index === null ? undefined : plot?.valToPos(index, 'x');
    plot?.setCursor({ left: left ?? -10, top: left === undefined ? -10 : 0 });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scheme changes what the variables hold
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const plot = draw(element, bars, of);
    chart.current = plot;
    if (document.activeElement === keys.current) moveCursor(at);
    const onClick = () => {
      const name = bars[plot.cursor.idx ?? -1]?.name;
      if (name !== undefined) choose.current?.(name);
    };
    plot.over.addEventListener('click', onClick);
    const resize = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth, height: heightPx });
    });
    resize.observe(element);
    return () => {
      resize.disconnect();
      chart.current = null;
      plot.destroy();
    };
  }, [bars, of, scheme]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || point === undefined) return;
    event.preventDefault();
    onChoose?.(point.name);
  };
  return (
    <div className={classes.chartBox}>
      <input
        ref={keys}
        type="range"
        className={classes.chartKeys}
        aria-label={onChoose ? `Records per ${of}. Enter ${enterText[of]}` : `Records per ${of}`}
        aria-valuetext={point && `${point.name}: ${formatCount(point.count)} records`}
        min={0}
        max={last}
        step={1}
        value={at}
        onChange={(event) => {
          const next = Number(event.currentTarget.value);
          setAt(next);
          moveCursor(next);
        }}
        onFocus={() => moveCursor(at)}
        onBlur={() => moveCursor(null)}
        onKeyDown={onKeyDown}
      />
      <div
        ref={host}
        className={classes.chart}
        data-clickable={onChoose !== undefined}
        aria-hidden="true"
      />
      {bars.length <= mostInTable && <BarTable bars={bars} of={of} />}
    </div>
  );
}

const enterText = { month: 'opens the month', day: 'shows that day only' } as const;

/** The same numbers as a table, for those who cannot see the chart. */
function BarTable({ bars, of }: { bars: readonly Bar[]; of: 'month' | 'day' }): ReactNode {
  return (
    <table className="visually-hidden">
      <caption>Records per {of}</caption>
      <tbody>
        {bars.map(({ name, count }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{formatCount(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Draws the bars on a canvas inside the element. The caller has to destroy the result. */
function draw(element: HTMLElement, bars: readonly Bar[], of: 'month' | 'day'): uPlot {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const label = document.createElement('div');
  label.className = classes.hover ?? '';
  const band = document.createElement('div');
  band.className = classes.band ?? '';
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: colour('--svc-muted'), font, ticks: { show: false } };
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: heightPx,
    // The label of the last day reaches beyond the end of its axis, and needs this room.
    padding: [8, of === 'day' ? 32 : 0, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [-0.6, bars.length - 0.4] },
      y: { range: (_plot, _min, max) => [0, max || 1] },
    },
    cursor: {
      y: false,
      x: false,
      points: { show: false },
      drag: { setScale: false, x: false, y: false },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 22,
        incrs: [1, 2, 3, 6, 12, 24, 60, 120, 240, 360],
        space: 80,
        values: (_plot, ticks) => ticks.map((tick) => bars[tick]?.name ?? ''),
      },
      {
        ...axis,
        grid: { stroke: colour('--svc-line'), width: 1 },
        size: 52,
        space: 28,
        values: (_plot, ticks) => ticks.map(shortCount),
      },
    ],
    series: [
      {},
      {
        fill: colour('--svc-accent-soft'),
        width: 0,
        points: { show: false },
        paths: uPlot.paths.bars?.({ size: [0.72, 40] }) ?? (() => null),
      },
    ],
    hooks: {
      ready: [(plot) => plot.over.append(band, label)],
      setCursor: [
        (plot) => {
          const point = bars[plot.cursor.idx ?? -1];
          label.hidden = point === undefined || (plot.cursor.left ?? -1) < 0;
          band.hidden = label.hidden;
          if (point === undefined) return;
          label.textContent = `${point.name} · ${formatCount(point.count)}`;
          const x = plot.valToPos(plot.cursor.idx ?? 0, 'x');
          const isRight = x > plot.over.clientWidth / 2;
          const start = plot.valToPos((plot.cursor.idx ?? 0) - 0.5, 'x');
          band.style.translate = `${start}px 0`;
          band.style.width = `${2 * (x - start)}px`;
          label.style.translate = `calc(${x}px ${isRight ? '- 100% - 8px' : '+ 8px'}) 0`;
        },
      ],
    },
  };
  const data: uPlot.AlignedData = [bars.map((_, index) => index), bars.map(({ count }) => count)];
  return new uPlot(options, data, element);
}

/** A short number for the axis: 120,000 is `120k`. */
function shortCount(count: number): string {
  if (count >= 1_000_000) return `${count / 1_000_000}M`;
  return count >= 1000 ? `${count / 1000}k` : String(count);
}

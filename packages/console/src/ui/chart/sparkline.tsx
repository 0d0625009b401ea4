import type { ReactNode } from 'react';
import classes from './chart.module.css';

type SparklineProps = {
  /** The same in words: it stands for the picture. */
  label: string;
  /** One number for each time, what went well and what did not. */
  good: readonly number[];
  bad: readonly number[];
};

const [barWidth, height] = [4, 20];

/** Small bars without an axis: what went well, and on it what did not. A time without either has a dot at its foot. */
export function Sparkline({ label, good, bad }: SparklineProps): ReactNode {
  const most = good.reduce((sum, count, at) => Math.max(sum, count + (bad[at] ?? 0)), 1);
  const width = good.length * barWidth;
  const scale = (count: number) => (count === 0 ? 0 : Math.max(2, (count * (height - 2)) / most));
  const heights = good.map((count, at) => [scale(count), scale(bad[at] ?? 0)] as const);
  const path = (bars: readonly (readonly [number, number])[]) =>
    bars
      .map(([foot, tall], at) =>
        tall === 0 ? '' : `M${at * barWidth} ${height - foot}v${-tall}h${barWidth - 1}v${tall}z`,
      )
      .join('');
  return (
    <svg
      className={classes.sparkline}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <path className={classes.line} d={`M0 ${height - 0.5}h${width}`} />
      <path className={classes.data} d={path(heights.map(([tall]) => [0, tall]))} />
      <path className={classes.bad} d={path(heights)} />
    </svg>
  );
}

import type { ReactNode } from 'react';
import classes from './chart.module.css';
import { thinLabels, timeLabels } from './scale.ts';
import type { Stretch } from './use-brush.ts';

/** What a part of a bar stands for; each has its colour in the theme, and the cold tier is hollow. */
export type Tone = 'data' | 'hot' | 'cold' | 'ok' | 'failed' | 'abandoned';

/** One part of every bar: its name, and how it is drawn. */
export type Series = { readonly name: string; readonly tone: Tone };

/**
 * One bar: the name of its day or month, and its parts, from the foot up, as the series have them. `isBreak` stands for many
 * empty ones, which it names from the first to the last.
 */
export type Bar = {
  readonly name: string;
  readonly parts: readonly number[];
  readonly isBreak?: boolean;
};

/** A year of empty months in a row says nothing, and leaves no room for the others. */
const mostEmpty = 11;

/** Bars whose long empty stretches have become breaks of the axis. */
export function breakAxis(bars: readonly Bar[]): Bar[] {
  const broken: Bar[] = [];
  let empty: Bar[] = [];
  for (const bar of bars) {
    if (bar.parts.every((part) => part === 0)) {
      empty.push(bar);
      continue;
    }
    const name = `${empty[0]?.name} … ${empty.at(-1)?.name}`;
    broken.push(...(empty.length > mostEmpty ? [{ name, parts: [], isBreak: true }] : empty), bar);
    empty = [];
  }
  return [...broken, ...empty];
}

/** Where in the picture things are, in pixels. */
export type Frame = {
  readonly width: number;
  readonly left: number;
  readonly top: number;
  /** The line on which the bars stand. */
  readonly foot: number;
  /** The distance of two bars. */
  readonly step: number;
};

/** The width of a text of an axis, in pixels: an estimate that is never too small for digits. */
const textWidth = (text: string) => text.length * 6.6;
const mostStep = 56;

/** Where things are in a picture of this size. */
export function frameOf(of: {
  width: number;
  height: number;
  count: number;
  ticks: readonly string[];
}): Frame {
  const left = Math.ceil(Math.max(...of.ticks.map(textWidth))) + 8;
  const room = Math.max(0, of.width - left - 2);
  const step = Math.min(mostStep, room / Math.max(1, of.count));
  return { width: of.width, left, top: 8, foot: of.height - 20, step };
}

type PictureProps = {
  bars: readonly Bar[];
  series: readonly Series[];
  frame: Frame;
  most: number;
  ticks: readonly number[];
  tick: (count: number) => string;
  stretch: Stretch | null;
  looked: number | null;
};

/** The bars with their axes; what is looked at and what is chosen stands out. */
export function Picture(props: PictureProps): ReactNode {
  const { bars, series, frame, most, ticks, tick, stretch, looked } = props;
  const { width, left, top, foot, step } = frame;
  const scale = (foot - top) / Math.max(1, most);
  const labels = thinLabels(timeLabels(bars.map(({ name }) => name)), step, textWidth);
  const isIn = (index: number) => stretch !== null && index >= stretch.from && index <= stretch.to;
  return (
    <svg width={width} height={foot + 20} aria-hidden="true">
      {ticks.map((count) => (
        <g key={count}>
          <line
            className={count === 0 ? classes.base : classes.line}
            x1={left}
            x2={width}
            y1={foot - count * scale}
            y2={foot - count * scale}
          />
          <text x={left - 6} y={foot - count * scale + 4} textAnchor="end">
            {tick(count)}
          </text>
        </g>
      ))}
      {looked !== null && (
        <rect
          className={classes.looked}
          x={left + looked * step}
          y={top}
          width={step}
          height={foot - top}
        />
      )}
      {stretch !== null && <Brush stretch={stretch} frame={frame} />}
      {bars.map(({ name, isBreak }, index) => {
        if (isBreak !== true) return null;
        const x = left + (index + 0.5) * step;
        return (
          <path key={name} className={classes.base} d={`M${x - 6} ${foot + 5}l6 -10m0 10l6 -10`} />
        );
      })}
      {series.map(({ name, tone }, part) => (
        <path
          key={name}
          className={classes[tone]}
          d={pathOf(bars, part, {
            frame,
            scale,
            isDrawn: (index) => !isIn(index) || series.length > 1,
          })}
        />
      ))}
      {stretch !== null && series.length === 1 && (
        <path className={classes.chosen} d={pathOf(bars, 0, { frame, scale, isDrawn: isIn })} />
      )}
      {labels.map(({ index, text }) => (
        <text
          key={index}
          x={Math.min(left + (index + 0.5) * step, width - textWidth(text) / 2)}
          y={foot + 15}
          textAnchor="middle"
        >
          {text}
        </text>
      ))}
    </svg>
  );
}

/** What is chosen: a band with two edges that can be taken. */
function Brush({ stretch, frame }: { stretch: Stretch; frame: Frame }): ReactNode {
  const { left, top, foot, step } = frame;
  const [x, end] = [left + stretch.from * step, left + (stretch.to + 1) * step];
  return (
    <g className={classes.brush}>
      <rect x={x} y={top} width={end - x} height={foot - top} />
      <line x1={x} x2={x} y1={top} y2={foot} />
      <line x1={end} x2={end} y1={top} y2={foot} />
    </g>
  );
}

type PathOptions = {
  frame: Frame;
  /** Pixels for one. */
  scale: number;
  isDrawn: (index: number) => boolean;
};

/** One part of all bars as one path, because thousands of elements would make the page slow. */
function pathOf(
  bars: readonly Bar[],
  part: number,
  { frame, scale, isDrawn }: PathOptions,
): string {
  const { left, foot, step } = frame;
  const gap = step < 3 ? 0 : Math.min(6, Math.max(1, Math.round(step * 0.16)));
  return bars
    .map(({ parts }, index) => {
      const count = parts[part] ?? 0;
      if (count === 0 || !isDrawn(index)) return '';
      const below = parts.slice(0, part).reduce((sum, each) => sum + each, 0);
      // A few still give a visible bar.
      const height = Math.max(1.5, count * scale);
      const x = left + index * step + gap / 2;
      return `M${round(x)} ${round(foot - below * scale)}v${-round(height)}h${round(step - gap)}v${round(height)}z`;
    })
    .join('');
}

function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}

/** What the parts of the bars stand for. */
export function SeriesLegend({ series }: { series: readonly Series[] }): ReactNode {
  return (
    <span className={classes.legend}>
      {series.map(({ name, tone }) => (
        <span key={name}>
          <svg width="12" height="12" aria-hidden="true">
            <rect className={classes[tone]} x="0.5" y="0.5" width="11" height="11" />
          </svg>
          {name}
        </span>
      ))}
    </span>
  );
}

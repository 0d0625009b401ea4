import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from 'react';
import { formatCount } from '../format.ts';
import { useMeasured } from '../use-measured.ts';
import { countOf } from '../words.ts';
import { type Bar, frameOf, Picture, type Series } from './bar-picture.tsx';
import classes from './chart.module.css';
import { niceTicks, shortCount } from './scale.ts';
import { type Stretch, useBrush } from './use-brush.ts';

/** Names of the first and the last bar of a stretch. */
export type NameRange = { readonly from: string; readonly to: string };

export type BarChartProps = {
  /** What the bars show, such as `Records per day of 2001-03`. */
  label: string;
  bars: readonly Bar[];
  /** By default a bar has one part, of records. */
  series?: readonly Series[];
  /** A number in words, such as `1,200 records`. */
  say?: (count: number) => string;
  /** A number at the axis. */
  tick?: (count: number) => string;
  height?: number;
  /** The chosen bars; null when none are chosen. */
  range?: NameRange | null;
  /** Called with the bars that were chosen; null means all. Without it, none can be chosen. */
  onRange?: ((range: NameRange | null, by: 'pointer' | 'key') => void) | undefined;
  /** Called with the name of a bar that was clicked, where none can be chosen. */
  onOpen?: ((name: string) => void) | undefined;
};

const records: readonly Series[] = [{ name: 'records', tone: 'data' }];
const sayRecords = (count: number) => countOf(count, 'record');

/** At most this many rows are in the table, more than anyone reads. */
const mostInTable = 400;

/** Bars over time, with axes. An invisible slider takes ← and → and is read out; a table has the same numbers. */
export function BarChart(props: BarChartProps): ReactNode {
  const { label, bars, series = records, say = sayRecords, range = null, onRange, onOpen } = props;
  const { height = 96, tick = shortCount } = props;
  const ref = useRef<HTMLDivElement>(null);
  const width = useMeasured(ref, ({ clientWidth }) => clientWidth) ?? 0;
  const last = bars.length - 1;
  const [wanted, setAt] = useState(last);
  const at = Math.min(wanted, last);
  const [looked, setLooked] = useState<number | null>(null);
  const goTo = (next: number) => {
    setAt(next);
    setLooked(next);
  };
  const most = bars.reduce((sum, bar) => Math.max(sum, totalOf(bar)), 0);
  const ticks = niceTicks(most, height < 120 ? 3 : 5);
  const frame = frameOf({ width, height, count: bars.length, ticks: ticks.map(tick) });
  const barAt = (clientX: number) => {
    const x = clientX - (ref.current?.getBoundingClientRect().left ?? 0) - frame.left;
    return Math.min(last, Math.max(0, Math.floor(x / frame.step)));
  };
  const brush = useBrush({
    count: bars.length,
    chosen: stretchOf(range, bars),
    barAt,
    barWidth: frame.step,
    onChoose: onRange && ((stretch, by) => onRange(stretch && namesOf(stretch, bars), by)),
  });
  const open = (index: number) => {
    if (bars[index]?.isBreak !== true) onOpen?.(bars[index]?.name ?? '');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = brush.onKey(event, at);
    if (next !== undefined) {
      event.preventDefault();
      goTo(next);
    } else if (event.key === 'Enter' && onOpen !== undefined) {
      event.preventDefault();
      open(at);
    }
  };
  const look = (event: PointerEvent) => {
    if (event.pointerType !== 'touch' || brush.isDragging) setLooked(barAt(event.clientX));
  };
  const point = bars[at];
  return (
    <div className={classes.chart} style={{ height }}>
      <Slider
        label={`${label}${keyText(onRange !== undefined, onOpen !== undefined)}`}
        text={point && barText(point, series, say)}
        at={at}
        last={last}
        onGo={goTo}
        onLook={setLooked}
        onKeyDown={onKeyDown}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider stands for it */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider takes the keys */}
      <div
        ref={ref}
        className={classes.plot}
        aria-hidden="true"
        data-clickable={onRange !== undefined || onOpen !== undefined}
        data-brush={onRange !== undefined}
        {...brush.handlers}
        onPointerMove={(event) => {
          brush.handlers.onPointerMove(event);
          look(event);
        }}
        onPointerUp={(event) => {
          setAt(barAt(event.clientX));
          brush.handlers.onPointerUp(event);
        }}
        onPointerLeave={() => setLooked(null)}
        onClick={(event) => open(barAt(event.clientX))}
      >
        {width > 0 && bars.length > 0 && (
          <Picture
            bars={bars}
            series={series}
            frame={frame}
            most={most}
            ticks={ticks}
            tick={tick}
            stretch={brush.stretch}
            looked={looked}
          />
        )}
        {looked !== null && bars[looked] && (
          <Tip x={frame.left + (looked + 0.5) * frame.step} width={width}>
            {brush.isDragging && brush.stretch !== null
              ? stretchText(brush.stretch, bars, say)
              : barText(bars[looked], series, say, ' · ')}
          </Tip>
        )}
      </div>
      {bars.length <= mostInTable && <BarTable label={label} bars={bars} series={series} />}
    </div>
  );
}

/** The invisible slider: it takes the keys, and readers say its text. */
function Slider(props: {
  label: string;
  text: string | undefined;
  at: number;
  last: number;
  onGo: (at: number) => void;
  onLook: (at: number | null) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}): ReactNode {
  return (
    <input
      type="range"
      className={classes.keys}
      aria-label={props.label}
      aria-valuetext={props.text}
      min={0}
      max={Math.max(0, props.last)}
      step={1}
      value={props.at}
      onChange={(event) => props.onGo(Number(event.currentTarget.value))}
      onFocus={() => props.onLook(props.at)}
      onBlur={() => props.onLook(null)}
      onKeyDown={props.onKeyDown}
    />
  );
}

function keyText(isBrush: boolean, isOpened: boolean): string {
  if (isBrush) return '. Enter chooses, Shift with the arrows chooses several';
  return isOpened ? '. Enter opens' : '';
}

/** What is looked at, above its bar, and inside the chart. */
function Tip(props: { x: number; width: number; children: ReactNode }): ReactNode {
  const isRight = props.x > props.width / 2;
  const shift = isRight ? 'calc(-100% - 8px)' : '8px';
  return (
    <span className={classes.tip} style={{ left: props.x, translate: `${shift} 0` }}>
      {props.children}
    </span>
  );
}

/** The same numbers for those who cannot see the chart. */
function BarTable({
  label,
  bars,
  series,
}: Required<Pick<BarChartProps, 'label' | 'bars' | 'series'>>): ReactNode {
  return (
    <table className="visually-hidden">
      <caption>{label}</caption>
      <tbody>
        {bars.map(({ name, parts }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {series.map((each, part) => (
              <td key={each.name}>
                {formatCount(parts[part] ?? 0)} {series.length > 1 && each.name}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function totalOf({ parts }: Bar): number {
  return parts.reduce((sum, part) => sum + part, 0);
}

/** A bar in words: `2001-03: 1,200 records`, and its parts where it has several. */
function barText(
  bar: Bar,
  series: readonly Series[],
  say: (count: number) => string,
  colon = ': ',
): string {
  const parts = series.map(({ name }, part) => `${say(bar.parts[part] ?? 0)} ${name}`);
  const total = say(totalOf(bar));
  return `${bar.name}${colon}${series.length === 1 ? total : [total, ...parts].join(' · ')}`;
}

function stretchText(
  { from, to }: Stretch,
  bars: readonly Bar[],
  say: (count: number) => string,
): string {
  const sum = bars.slice(from, to + 1).reduce((total, bar) => total + totalOf(bar), 0);
  const names = from === to ? bars[from]?.name : `${bars[from]?.name} … ${bars[to]?.name}`;
  return `${names} · ${say(sum)}`;
}

/** The bars of a range, cut to those that there are; null when there are none. */
function stretchOf(range: NameRange | null, bars: readonly Bar[]): Stretch | null {
  if (range === null) return null;
  const from = bars.findIndex(({ name }) => name >= range.from);
  const to = bars.findLastIndex(({ name }) => name <= range.to);
  return from < 0 || to < from ? null : { from, to };
}

function namesOf({ from, to }: Stretch, bars: readonly Bar[]): NameRange {
  return { from: bars[from]?.name ?? '', to: bars[to]?.name ?? '' };
}

// How numbers become lengths, shades and labels in every picture of the console.

/** The ticks of an axis from zero: round numbers up to the most, about as many as wanted. */
export function niceTicks(most: number, wanted = 3): number[] {
  if (!(most > 0)) return [0, 1];
  // Only whole things are counted, so that no step is smaller than one of them.
  const step = Math.max(1, niceAbove(most / wanted));
  const count = Math.floor(most / step);
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below this number. */
function niceAbove(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= number * (1 - 1e-12)) ?? 10;
  const nice = factor * power;
  // 2.5 is no number of things; 25 is.
  return Number.isInteger(nice) || nice < 1 ? nice : Math.ceil(nice);
}

/** The shade of a count: 1 to 5, and 0 for nothing. */
export type Shade = 0 | 1 | 2 | 3 | 4 | 5;

/**
 * The least counts of the five shades, round numbers at even distances, so that a legend can name them: `[1, 200, 400,
 * 600, 800]` where the most is 913. There are fewer where the most is below five.
 */
export function rampOf(most: number): number[] {
  if (most < 5) return Array.from({ length: Math.max(0, most) }, (_, index) => index + 1);
  const shades = [0, 1, 2, 3, 4];
  if (most < 10) return shades.map((shade) => 1 + Math.floor((shade * most) / 5));
  const step = roundAbove(most / 5);
  return shades.map((shade) => Math.max(1, shade * step)).filter((least) => least <= most);
}

/** As `niceAbove`, in finer steps, so that the most hardly ever misses the darkest shades. */
function roundAbove(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  const factors = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  const factor = factors.find((each) => each * power >= number * (1 - 1e-12)) ?? 10;
  return Math.max(1, Math.round(factor * power));
}

/** The shade of a count in a ramp that `rampOf` made. With fewer than five shades the darkest are used. */
export function shadeOf(count: number, ramp: readonly number[]): Shade {
  const index = ramp.findLastIndex((least) => count >= least);
  return (index < 0 ? 0 : index + 1 + (5 - ramp.length)) as Shade;
}

/** A short number for axes and legends: `850`, `1.2k`, `25k`, `3M`. */
export function shortCount(count: number): string {
  const [power, unit] = units.find(([least]) => count >= least) ?? [1, ''];
  return `${Number((count / power).toPrecision(3))}${unit}`;
}

const units: readonly (readonly [number, string])[] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** A label below an axis, at the middle of a bar. */
type AxisLabel = { readonly index: number; readonly text: string };

const steps = [1, 2, 3, 5, 6, 7, 10, 12, 14, 24, 60, 120, 240, 360];

/** Leaves out labels until those that stay do not touch: every second one, every third one, and so on. */
export function thinLabels(
  labels: readonly AxisLabel[],
  barWidth: number,
  labelWidth: (text: string) => number,
): AxisLabel[] {
  for (const step of steps) {
    const kept = labels.filter((_, index) => index % step === 0);
    const isRoomy = kept.every((label, index) => {
      const next = kept[index + 1];
      if (next === undefined) return true;
      const room = (next.index - label.index) * barWidth;
      return room >= (labelWidth(label.text) + labelWidth(next.text)) / 2 + labelGap;
    });
    if (isRoomy) return kept;
  }
  return labels.slice(0, 1);
}

/** Pixels between two labels. */
const labelGap = 8;

/**
 * The names of bars, hours, days or months, as labels: of days inside one month their numbers, else months, else years. What
 * names a stretch, as a break of the axis does, has no label, and the month behind it always has one.
 */
export function timeLabels(names: readonly string[]): AxisLabel[] {
  if (names[0]?.length === hourName.length) return hourLabels(names);
  const first = names[0] ?? '';
  const last = names.at(-1) ?? '';
  const isDays = first.length === 10;
  const all = names.map((name, index) => ({ index, name }));
  if (isDays && first.slice(0, 7) === last.slice(0, 7)) {
    return all.map(({ index, name }) => ({ index, text: String(Number(name.slice(8))) }));
  }
  const months = all.filter(({ name }) => (isDays ? name.endsWith('-01') : !isStretch(name)));
  if (months.length <= 24)
    return months.map(({ index, name }) => ({ index, text: name.slice(0, 7) }));
  return months
    .filter(({ name, index }) => name.slice(5, 7) === '01' || isStretch(names[index - 1] ?? ''))
    .map(({ index, name }) => ({ index, text: name.slice(0, 4) }));
}

const isStretch = (name: string) => name.includes('…');

/** How an hour is named. */
const hourName = '2001-01-01 12:00';

/** Of hours every sixth: the day at midnight, else the time. */
function hourLabels(names: readonly string[]): AxisLabel[] {
  return names.flatMap((name, index) => {
    const hour = Number(name.slice(11, 13));
    if (hour % 6 !== 0) return [];
    return [{ index, text: hour === 0 ? name.slice(5, 10) : name.slice(11) }];
  });
}

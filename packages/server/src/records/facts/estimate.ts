import type { Share } from '../fields.contract.ts';

/** How a sample came about, which decides how far what it shows may be from the truth. */
export type Design = {
  /** The number of records of the slice, and of those looked at. */
  readonly count: number;
  readonly sampled: number;
  /** The share of the slice that stands in the days of which something was looked at. */
  readonly reach: number;
  /** Of each record the number of its place, from 0, in the order of reading. */
  readonly placeOf: readonly number[];
  /** How many records were looked at in each place. */
  readonly sizes: Float64Array;
};

export function designOf(
  sample: { count: number; reach: number },
  places: readonly number[],
): Design {
  const ordered = [...new Set(places)].sort((a, b) => a - b);
  const numbers = new Map(ordered.map((place, n) => [place, n]));
  const placeOf = places.map((place) => numbers.get(place) ?? 0);
  const { count, reach } = sample;
  const sizes = new Float64Array(numbers.size);
  for (const place of placeOf) sizes[place] = (sizes[place] ?? 0) + 1;
  return { count, sampled: places.length, reach, placeOf, sizes };
}

/** Sums weights of records by their places. */
export function sumByPlace(
  { placeOf, sizes }: Design,
  rows: Iterable<number>,
  weightOf: (n: number) => number = () => 1,
): Float64Array {
  const sums = new Float64Array(sizes.length);
  let n = 0;
  for (const row of rows) {
    const place = placeOf[row] ?? 0;
    sums[place] = (sums[place] ?? 0) + weightOf(n);
    n += 1;
  }
  return sums;
}

/**
 * Returns the variance of a share, whose numerators and denominators are given by place. Records of a place resemble one
 * another, so the differences between places that follow one another tell how much was left to the choice of these
 * (Wolter, Introduction to Variance Estimation, 8.2); what changes slowly over the slice is not left to chance. Where
 * the days that were looked at are all there are, only the choice of records within them is (Cochran, Sampling
 * Techniques, 10.4). It is 0 where all records were looked at.
 */
export function varianceOf(design: Design, of: Float64Array, all: Float64Array): number {
  const [part, whole] = [sum(of), sum(all)];
  if (whole === 0) return 0;
  const share = part / whole;
  const within = (share * (1 - share)) / whole;
  const places = design.sizes.length;
  const rests = of.map((value, place) => value - share * (all[place] ?? 0));
  let squares = 0;
  for (let n = 1; n < places; n += 1) squares += ((rests[n] ?? 0) - (rests[n - 1] ?? 0)) ** 2;
  // Never less than of records drawn one by one: a rhythm within the days may make all places look too much alike.
  const between =
    places < 2 ? within : Math.max(within, (places / (2 * (places - 1))) * (squares / whole ** 2));
  const chosen = Math.min(1, design.sampled / Math.max(1, design.count * design.reach));
  return Math.max(0, (1 - design.reach) * between + design.reach * (1 - chosen) * within);
}

/** How many standard deviations hold 19 of 20 cases: more where few places have to tell the variance. */
export function deviationsOf({ sizes, reach }: Design): number {
  return 1.96 + (sizes.length < 2 ? 0 : ((1 - reach) * 2.5) / (sizes.length - 1));
}

/** Returns a share of all records with its interval, by Wilson's formula for as many records as the variance is worth. */
export function shareOf(design: Design, of: Float64Array): Share {
  const share = design.sampled === 0 ? 0 : sum(of) / design.sampled;
  if (design.sampled >= design.count) return { share: rounded(share), ...both(rounded(share)) };
  const variance = varianceOf(design, of, design.sizes);
  const left = 1 - design.sampled / design.count;
  const worth = variance > 0 ? (share * (1 - share)) / variance : design.sampled / left;
  const z = deviationsOf(design);
  const middle = (share + z ** 2 / (2 * worth)) / (1 + z ** 2 / worth);
  const half =
    (z / (1 + z ** 2 / worth)) *
    Math.sqrt((share * (1 - share)) / worth + z ** 2 / (4 * worth ** 2));
  return {
    share: rounded(share),
    low: rounded(Math.max(0, Math.min(share, middle - half))),
    high: rounded(Math.min(1, Math.max(share, middle + half))),
  };
}

const both = (share: number) => ({ low: share, high: share });

export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

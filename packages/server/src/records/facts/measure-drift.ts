import type { Field } from '../fields.contract.ts';
import { bucketOf } from './buckets.ts';
import type { FieldColumn, FieldValue } from './collect-fields.ts';
import { type Design, rounded, sum, varianceOf } from './estimate.ts';

/** A field in the sample of one of two slices. */
export type Side = { readonly column: FieldColumn; readonly design: Design };

const mostValues = 20;

/**
 * Returns how much a field differs between two slices: the Jensen–Shannon distance (with logarithms of base 2, so that
 * it is 0 … 1) between the shares of records in each bucket of numbers, with each of the most frequent values, and
 * without any. `noise` is what two samples of the same would stay below in 19 of 20 cases. The divergence of two close
 * distributions is an eighth of their chi-square distance, so its expectation follows from the variances of the shares.
 */
export function measureDrift(
  a: Side,
  b: Side,
  edges: readonly number[],
): NonNullable<Field['drift']> {
  const listed = listValues([a.column, b.column]);
  const classOf = (value: FieldValue) => classNumber(value, edges, listed);
  const classes = edges.length + listed.length + 5;
  const [ofA, ofB] = [weigh(a, classOf, classes), weigh(b, classOf, classes)];
  let [divergence, expected, used] = [0, 0, 0];
  for (let n = 0; n < classes; n += 1) {
    const [p, q] = [shareIn(ofA, a, n), shareIn(ofB, b, n)];
    const middle = (p + q) / 2;
    if (middle === 0) continue;
    used += 1;
    divergence += (part(p, middle) + part(q, middle)) / 2;
    expected += (varianceIn(ofA, a, n) + varianceIn(ofB, b, n)) / (8 * middle * Math.LN2);
  }
  return {
    distance: rounded(Math.sqrt(Math.max(0, divergence))),
    noise: rounded(Math.sqrt(expected * upperOf(used - 1))),
  };
}

function part(share: number, middle: number): number {
  return share === 0 ? 0 : share * Math.log2(share / middle);
}

/** The 95 % quantile of chi-square in units of its mean, by Wilson and Hilferty. */
function upperOf(degrees: number): number {
  const spread = 2 / (9 * Math.max(1, degrees));
  return (1 - spread + 1.645 * Math.sqrt(spread)) ** 3;
}

/** The most frequent texts and booleans of both sides together. Each side counts the same, however large its sample is. */
function listValues(columns: readonly FieldColumn[]): (string | boolean)[] {
  const shares = new Map<string | boolean, number>();
  for (const { values } of columns) {
    for (const value of values) {
      if (typeof value !== 'string' && typeof value !== 'boolean') continue;
      shares.set(value, (shares.get(value) ?? 0) + 1 / values.length);
    }
  }
  return [...shares]
    .sort(([x, a], [y, b]) => b - a || (String(x) < String(y) ? -1 : 1))
    .slice(0, mostValues)
    .map(([value]) => value);
}

/** Numbers the classes: 0 missing, 1 null, 2 objects and arrays, 3 other values, 4 numbers beyond doubles, then the rest. */
function classNumber(
  value: FieldValue,
  edges: readonly number[],
  listed: readonly (string | boolean)[],
): number {
  if (value === null) return 1;
  if (typeof value === 'symbol') return 2;
  if (typeof value === 'number') return Number.isFinite(value) ? 5 + bucketOf(edges, value) : 4;
  const at = listed.indexOf(value);
  return at < 0 ? 3 : 5 + edges.length + at;
}

/** Returns how many records of each place are in each class. Of a record with several values each counts for its part. */
function weigh(
  { column, design }: Side,
  classOf: (value: FieldValue) => number,
  classes: number,
): Float64Array[] {
  const values = new Float64Array(design.sampled);
  for (const row of column.rows) values[row] = (values[row] ?? 0) + 1;
  const sums = Array.from({ length: classes }, () => new Float64Array(design.sizes.length));
  const add = (row: number, n: number, weight: number) => {
    const place = design.placeOf[row] ?? 0;
    const of = sums[n];
    if (of !== undefined) of[place] = (of[place] ?? 0) + weight;
  };
  for (const [n, row] of column.rows.entries()) {
    add(row, classOf(column.values[n] ?? null), 1 / (values[row] ?? 1));
  }
  for (const [row, count] of values.entries()) if (count === 0) add(row, 0, 1);
  return sums;
}

function shareIn(sums: readonly Float64Array[], { design }: Side, n: number): number {
  return design.sampled === 0 ? 0 : sum(sums[n] ?? []) / design.sampled;
}

function varianceIn(sums: readonly Float64Array[], { design }: Side, n: number): number {
  const of = sums[n];
  if (of === undefined || design.sampled >= design.count) return 0;
  return varianceOf(design, of, design.sizes);
}

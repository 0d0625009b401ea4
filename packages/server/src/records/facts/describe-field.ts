import type { DescribedField, Field } from '../fields.contract.ts';
import { bucketOf, edgesOf, quantileOf } from './buckets.ts';
import { type FieldColumn, type FieldValue, typeOf } from './collect-fields.ts';
import { type Design, deviationsOf, shareOf, sum, sumByPlace, varianceOf } from './estimate.ts';

const shownValues = 20;
/** Numbers that are no more than so many are listed as values, too: they may be codes. */
const mostCodes = 20;
const percents = [5, 25, 50, 75, 95];

type Scalar = string | number | boolean;

/** Says what the records of a sample have in a field. `edges` are those of the buckets of its numbers. */
export function describeField(
  column: FieldColumn,
  design: Design,
  edges: readonly number[],
): DescribedField {
  const share = (rows: readonly number[]) => shareOf(design, sumByPlace(design, rows));
  const rowsOf = groupRows(column, (value) => (value === null ? 'null' : 'value'));
  const present = rowsOf.get('value') ?? [];
  const has = new Uint8Array(design.sampled);
  for (const row of present) has[row] = 1;
  const nulls = (rowsOf.get('null') ?? []).filter((row) => has[row] === 0);
  for (const row of nulls) has[row] = 1;
  const missing: number[] = [];
  for (let row = 0; row < has.length; row += 1) if (has[row] === 0) missing.push(row);
  const types = [...groupRows(column, typeOf)].sort(([, a], [, b]) => b.length - a.length);
  const tally = tallyValues(column);
  const top = topOf(tally);
  const listed = new Set<FieldValue>(top);
  const rowsOfValue = groupRows(column, (value) => (listed.has(value) ? value : undefined));
  return {
    present: share(present),
    nulls: share(nulls),
    missing: share(missing),
    types: types.flatMap(([type, rows]) => (type === null ? [] : [{ type, ...share(rows) }])),
    numbers: describeNumbers(column, design, edges),
    distinct: tally.length,
    values: top.map((value) => {
      const rows = rowsOfValue.get(value) ?? [];
      return { value, count: rows.length, ...share(rows) };
    }),
  };
}

/** Groups the records by what their values are, each once in a group. A value that is `undefined` is in none. */
function groupRows<Group>(
  { rows, values }: FieldColumn,
  groupOf: (value: FieldValue) => Group | undefined,
): Map<Group, number[]> {
  const groups = new Map<Group, number[]>();
  for (let n = 0; n < rows.length; n += 1) {
    const group = groupOf(values[n] ?? null);
    if (group === undefined) continue;
    const row = rows[n] ?? 0;
    const own = groups.get(group);
    if (own === undefined) groups.set(group, [row]);
    // The values of a record follow one another.
    else if (own.at(-1) !== row) own.push(row);
  }
  return groups;
}

type Tally = { readonly value: Scalar; count: number; lastRow: number };

/** Returns in how many records each value is, the most frequent value first. */
function tallyValues({ rows, values }: FieldColumn): Tally[] {
  const found = new Map<Scalar, Tally>();
  for (let n = 0; n < rows.length; n += 1) {
    const value = values[n] ?? null;
    if (value === null || typeof value === 'symbol') continue;
    const row = rows[n] ?? 0;
    const known = found.get(value);
    if (known === undefined) {
      found.set(value, { value, count: 1, lastRow: row });
    } else if (known.lastRow !== row) {
      known.count += 1;
      known.lastRow = row;
    }
  }
  return [...found.values()].sort(
    (a, b) => b.count - a.count || (String(a.value) < String(b.value) ? -1 : 1),
  );
}

/** The values that are listed. Infinite numbers are none, because JSON has no word for them. */
function topOf(tally: readonly Tally[]): Scalar[] {
  const isCodes = tally.filter(({ value }) => typeof value === 'number').length <= mostCodes;
  return tally
    .filter(({ value }) => typeof value !== 'number' || (isCodes && Number.isFinite(value)))
    .slice(0, shownValues)
    .map(({ value }) => value);
}

/** The numbers of a field in ascending order, without those that no double can hold. */
export function numbersOf({ values }: FieldColumn): Float64Array {
  return new Float64Array(values.filter(isNumber)).sort();
}

const isNumber = (value: FieldValue): value is number => Number.isFinite(value);

function describeNumbers(
  column: FieldColumn,
  design: Design,
  edges: readonly number[],
): DescribedField['numbers'] {
  const sorted = numbersOf(column);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  const counts = edges.slice(1).map(() => 0);
  for (const value of sorted) {
    const bucket = bucketOf(edges, value);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  const error = errorOfQuantiles(column, design, quantileOf(sorted, 0.5));
  return {
    count: sorted.length,
    beyond: column.values.filter((value) => typeof value === 'number' && !isNumber(value)).length,
    min,
    max,
    quantiles: percents.map((percent) => {
      const share = percent / 100;
      const reach = error * Math.sqrt(share * (1 - share));
      return {
        percent,
        value: quantileOf(sorted, share),
        low: quantileOf(sorted, share - reach),
        high: quantileOf(sorted, share + reach),
      };
    }),
    buckets: counts.map((count, n) => ({ from: edges[n] ?? min, to: edges[n + 1] ?? max, count })),
  };
}

/** How far quantiles may be off, as a share of the numbers, by the variance of the share below their middle. */
function errorOfQuantiles(column: FieldColumn, design: Design, middle: number): number {
  const rows = column.rows.filter((_, n) => isNumber(column.values[n] ?? null));
  const numbers = column.values.filter(isNumber);
  const below = (n: number) => Number(Number(numbers[n]) <= middle);
  const of = sumByPlace(design, rows, below);
  const all = sumByPlace(design, rows);
  const share = sum(of) / sum(all);
  const variance = varianceOf(design, of, all);
  const spread = share * (1 - share);
  if (spread === 0) return design.sampled < design.count ? 1.96 / Math.sqrt(rows.length) : 0;
  return deviationsOf(design) * Math.sqrt(variance / spread);
}

/** Says of each period how many records have a value, the middle of their numbers, and how often the first values come. */
export function describeOverTime(
  column: FieldColumn,
  values: DescribedField['values'],
  periodOf: readonly number[],
  periods: number,
): Field['over_time'] {
  const each = Array.from({ length: periods }, () => ({
    rows: new Set<number>(),
    numbers: [] as number[],
    counts: values.slice(0, 3).map(() => new Set<number>()),
  }));
  const first = values.slice(0, 3).map(({ value }) => value);
  for (let n = 0; n < column.rows.length; n += 1) {
    const [value = null, row = 0] = [column.values[n], column.rows[n]];
    const period = each[periodOf[row] ?? 0];
    if (period === undefined || value === null) continue;
    period.rows.add(row);
    if (isNumber(value)) period.numbers.push(value);
    period.counts[first.indexOf(value as Scalar)]?.add(row);
  }
  return each.map(({ rows, numbers, counts }) => {
    const sorted = numbers.sort((a, b) => a - b);
    const at = (share: number) => (sorted.length === 0 ? null : quantileOf(sorted, share));
    return {
      present: rows.size,
      p25: at(0.25),
      p50: at(0.5),
      p75: at(0.75),
      counts: counts.map(({ size }) => size),
    };
  });
}

/** The edges of the buckets for the numbers of a field in one or two samples. */
export function sharedEdges(columns: readonly FieldColumn[]): number[] {
  return edgesOf(new Float64Array(columns.flatMap(({ values }) => values.filter(isNumber))).sort());
}

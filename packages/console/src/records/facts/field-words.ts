import type { DescribedField, Field, RecordFields } from '../../api/types.ts';
import { formatCount, formatShare } from '../../ui/format.ts';

/** What identifies a field: an enrichment may have a field with the name of a label. */
export function fieldKey({ of, name }: Pick<Field, 'of' | 'name'>): string {
  return `${of}/${name}`;
}

/** A period of fewer records says little of how shares move. */
const fewest = 100;

/**
 * How much of a field there is to look at, from 0 to 1: the share of records that lack it, or how far a share of it moves over
 * time, beyond what sampling may make of it.
 */
export function interestOf(
  { missing, nulls, over_time }: Pick<Field, 'missing' | 'nulls' | 'over_time'>,
  periods: RecordFields['periods'],
): number {
  const looked = periods.flatMap(({ sampled }, n) => {
    const at = over_time[n];
    return sampled < fewest || at === undefined
      ? []
      : [{ sampled, counts: [at.present, ...at.counts] }];
  });
  const moves = (looked[0]?.counts ?? []).map((_, n) => {
    const shares = looked.map(({ sampled, counts }) => (counts[n] ?? 0) / sampled);
    return Math.max(...shares) - Math.min(...shares);
  });
  const chance = 2 / Math.sqrt(Math.min(...looked.map(({ sampled }) => sampled)));
  return Math.max(missing.share + nulls.share, ...moves.map((move) => move - chance));
}

/** The filter of the list of records that a value of a field sets. */
export type FieldFilter = { kind: string } | { source: string } | { where: string };

/** A text of so many characters may be the beginning of a longer one. */
export const cutAt = 200;

/** Returns the filter for the records with this value of a field; undefined where none says just that. */
export function filterOf(
  { of, name }: Pick<Field, 'of' | 'name'>,
  value: string | number | boolean,
): FieldFilter | undefined {
  if (typeof value === 'string' && value.length >= cutAt) return undefined;
  if (of === 'record' && name === 'kind') return { kind: String(value) };
  if (of === 'record' && name === 'source') return { source: String(value) };
  const says = `= ${JSON.stringify(value)}`;
  if (of === 'record') return { where: `${name} ${says}` };
  const array = /^(.*)\[\]$/.exec(name)?.[1];
  // Elements of arrays in arrays, and fields of elements, cannot be asked for.
  if ((array ?? name).includes('[]')) return undefined;
  const path = `enrichment.${array ?? name}`;
  return { where: `${array === undefined ? path : `any(${path})`} ${says}` };
}

/** Returns the filter for the records with a number of this bucket; undefined where none says just that. */
export function filterOfBucket(
  { of, name }: Pick<Field, 'of' | 'name'>,
  { from, to, isLast }: { from: number; to: number; isLast: boolean },
): FieldFilter | undefined {
  // One element of an array could be above, and another below.
  if (name.includes('[]')) return undefined;
  const path = of === 'record' ? name : `enrichment.${name}`;
  return { where: `${path} >= ${from} and ${path} ${isLast ? '<=' : '<'} ${to}` };
}

/** Says whether all records were looked at, or how many of them. */
export function sampleText({
  count,
  sampled,
  is_exact,
  fitting,
}: Pick<RecordFields, 'count' | 'sampled' | 'is_exact' | 'fitting'>): string {
  if (fitting !== null) {
    const of = `${formatCount(count)} records, of which ${withError(fitting)} fit`;
    return is_exact
      ? `of ${formatCount(sampled)} of ${of}`
      : `in a sample of ${formatCount(sampled)} of ${of}`;
  }
  if (is_exact) return count === 1 ? 'of the one record' : `of all ${formatCount(count)} records`;
  return `in a sample of ${formatCount(sampled)} of ${formatCount(count)} records`;
}

/** A share, and by how many hundredths it may be off where that can be seen: `80 % ±3`. */
export function withError(of: { share: number; low: number; high: number }): string {
  const points = 50 * (of.high - of.low);
  return points < 0.5 ? formatShare(of.share) : `${formatShare(of.share)} ±${Math.ceil(points)}`;
}

/** What is typical: the middle of numbers and where nine of ten lie, or the most frequent values. */
export function typicalOf(field: DescribedField): string | null {
  const { numbers, values, distinct } = field;
  if (numbers !== null && distinct > values.length) {
    const at = (percent: number) => shortNumber(quantileOf(field, percent) ?? 0);
    return `${at(50)} (${at(5)} … ${at(95)})`;
  }
  const [first] = values;
  if (first === undefined) return null;
  if (first.count === 1 && distinct > 3) return `all different, such as ${first.value}`;
  const named = values.slice(0, 3).map(({ value, share }) => `${value} ${formatShare(share)}`);
  return distinct > 3 ? `${named.join(', ')} of ${formatCount(distinct)}` : named.join(', ');
}

function quantileOf({ numbers }: DescribedField, percent: number): number | null {
  return numbers?.quantiles.find((one) => one.percent === percent)?.value ?? null;
}

/** A number with so many digits that count. */
export function shortNumber(value: number, digits = 4): string {
  return String(Number(value.toPrecision(digits)));
}

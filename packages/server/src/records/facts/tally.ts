import type { Facts } from '../tags.contract.ts';
import { compareText } from '../tiers/key-order.ts';

/** How many records have these labels. */
export type Tally = {
  kind: string | null;
  source: string | null;
  model: string | null;
  count: number;
};

const shownValues = 20;

/** The most frequent values of a label, then null for the records without one. */
export function topValues(
  tallies: readonly Tally[],
  label: 'kind' | 'source' | 'model',
): Facts['kinds'] {
  const counts = new Map<string | null, number>();
  for (const tally of tallies) {
    counts.set(tally[label], (counts.get(tally[label]) ?? 0) + tally.count);
  }
  const without = counts.get(null);
  const values = [...counts]
    .flatMap(([value, count]) => (value === null ? [] : [{ value, count }]))
    .sort((a, b) => b.count - a.count || compareText(a.value, b.value))
    .slice(0, shownValues);
  return without === undefined ? values : [...values, { value: null, count: without }];
}

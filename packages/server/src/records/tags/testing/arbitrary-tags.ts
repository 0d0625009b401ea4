import fc from 'fast-check';
import { dayAfter } from '../../../kernel/day.ts';
import { beyondLastDay, firstDay, type TagWindows } from '../../slice/slice.ts';
import { type DatasetName, datasetNames } from '../../values.ts';
import { mergeWindows } from '../windows.ts';

/** A tag as a test makes it: first and last day, null = open. */
export type TestTag = {
  readonly store: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly dataset: DatasetName;
};

/** Any tags that overlap, touch, repeat each other or are open, around these days and stores. */
export function arbitraryTags(options: {
  stores: readonly string[];
  days: readonly string[];
}): fc.Arbitrary<TestTag[]> {
  const day = fc.option(fc.constantFrom(...options.days));
  const tag = fc
    .record({
      store: fc.option(fc.constantFrom(...options.stores)),
      days: fc.tuple(day, day),
      dataset: fc.constantFrom(...datasetNames),
    })
    .map(({ store, days: [a, b], dataset }) => {
      const isTurned = a !== null && b !== null && a > b;
      return { store, from: isTurned ? b : a, to: isTurned ? a : b, dataset };
    });
  return fc.uniqueArray(tag, { maxLength: 8, selector: (one) => JSON.stringify(one) });
}

export function toWindows(tags: readonly TestTag[]): TagWindows {
  const of = (name: DatasetName) =>
    mergeWindows(
      tags
        .filter(({ dataset }) => dataset === name)
        .map(({ store, from, to }) => ({
          store,
          from: from ?? firstDay,
          until: to === null ? beyondLastDay : dayAfter(to),
        })),
    );
  return { training: of('training'), fine_tuning: of('fine_tuning') };
}

/** What counting gives: how many of these records are tagged, looked at one by one. */
export function countTagged(
  records: readonly { store: string; day: string; count?: number }[],
  tags: readonly TestTag[],
): { covered: number; training: number; fine_tuning: number } {
  const sum = { covered: 0, training: 0, fine_tuning: 0 };
  for (const { store, day, count = 1 } of records) {
    const datasets = new Set(
      tags
        .filter((tag) => tag.store === null || tag.store === store)
        .filter(({ from, to }) => (from ?? day) <= day && day <= (to ?? day))
        .map(({ dataset }) => dataset),
    );
    if (datasets.size > 0) sum.covered += count;
    for (const dataset of datasets) sum[dataset] += count;
  }
  return sum;
}

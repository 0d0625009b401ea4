import fc from 'fast-check';
import sql from 'sql-template-tag';
import { dayAfter } from '../../../kernel/day.ts';
import { newId } from '../../../kernel/ids.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { beyondLastDay, firstDay, type TagWindows } from '../../slice/slice.ts';
import { type DatasetName, datasetNames } from '../../values.ts';
import { insertTag } from '../queries.ts';
import { mergeWindows } from '../windows.ts';

/** A tag as a test makes it: first and last day, null = open. */
export type TestTag = {
  readonly store: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly dataset: DatasetName;
};

/** Any tags that overlap, touch, repeat each other or are open, around these days and stores. */
export function arbitraryTags(
  options: { stores: readonly string[]; days: readonly string[] },
  maxLength = 8,
): fc.Arbitrary<TestTag[]> {
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
  return fc.uniqueArray(tag, { maxLength, selector: (one) => JSON.stringify(one) });
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

/** Has these tenants tagged so, and nobody else. */
export async function putTags(
  db: Queryable,
  tags: Readonly<Record<string, readonly TestTag[]>>,
): Promise<void> {
  await db.query(sql`delete from tags`);
  for (const [tenant, own] of Object.entries(tags)) {
    for (const tag of own) {
      await insertTag(db, { ...tag, tenant, id: newId('tag'), note: null, created_by: 'test' });
    }
  }
}

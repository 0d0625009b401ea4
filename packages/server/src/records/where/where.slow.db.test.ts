import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { numbers, patterns, storedNumbers, texts } from './testing/arbitrary-where.ts';
import { compareRandom, useComparison } from './testing/compare.ts';

const compare = useComparison();

test('the tiers and the evaluator find the same records', async () => {
  // Of one set they are about ten, and seldom as few as five.
  const count = runs(2);
  expect(await compareRandom(compare, count)).toBeGreaterThan(count * 5);
});

/** A record for each value, in the key `v` and as an element of the array `all`. */
function recordsOf(tenant: string, values: readonly string[]): string[] {
  return numberedRecords(tenant, values.length, (n) => ({ enrichment: n })).map((record) =>
    JSON.stringify(record).replace(
      /"enrichment":(\d+)/,
      (_, n) => `"enrichment":{"v":${values[n]},"all":[null,${values[n]}]}`,
    ),
  );
}

test('numbers compare exactly, each with each, however they are spelled', async () => {
  const unlike = ['"1"', 'null', 'true', '[1]', '{"a":1}'];
  const wheres = numbers.flatMap((value) => [
    `v in (${value}, -3)`,
    `v < ${value}`,
    `any(all) >= ${value}`,
  ]);
  const all = await compare('numbers', recordsOf('numbers', [...storedNumbers, ...unlike]), wheres);
  for (const [where, ...ids] of all) expect(ids.length, where).toBeGreaterThan(0);
});

test('texts compare by their bytes, and ilike alone folds letters', async () => {
  const wheres = [
    ...texts.flatMap((text) => ['=', '<'].map((sign) => `v ${sign} ${JSON.stringify(text)}`)),
    ...texts.map((text) => `any(all) != ${JSON.stringify(text)}`),
    ...patterns.map((pattern) => `v ilike ${JSON.stringify(pattern)}`),
    ...['true', 'false', 'null', '5'].map((value) => `v = ${value}`),
  ];
  const values = [...texts.map((text) => JSON.stringify(text)), 'true', 'null', '5', '[]', '{}'];
  await compare('texts', recordsOf('texts', values), wheres);
});

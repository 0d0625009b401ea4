import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { bothTiers, ingest, page } from '../read/testing/walk.ts';
import { readStored } from '../tail/read-stored.ts';
import { parseWhere } from './parse.ts';
import {
  arbitraryRecords,
  arbitraryWhere,
  numbers,
  patterns,
  storedNumbers,
  texts,
} from './testing/arbitrary-where.ts';
import { evaluate } from './testing/evaluate.ts';

// PostgreSQL, DuckDB and an evaluator of few lines agree on which records fit.

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);

/** Ingests records and returns them as they are stored. */
async function store(tenant: string, texts: readonly string[]) {
  await ingest(db, cold, [texts]);
  const { rows } = await records.scan(
    { tenant, tenants: null },
    { after: null, descending: false, limit: 500 },
  );
  return rows;
}

/** Returns each `where` with the ids of the records that it finds. */
async function findEach(tenant: string, wheres: readonly string[]): Promise<string[][]> {
  const all: string[][] = [];
  for (const where of wheres) {
    const { data } = await page(records, { tenant, where, limit: 500 });
    all.push([where, ...data.map(({ event_id }) => event_id)]);
  }
  return all;
}

/** Returns each `where` with the ids of the records that a tail tells. */
async function followEach(tenant: string, wheres: readonly string[]): Promise<string[][]> {
  const all: string[][] = [];
  for (const where of wheres) {
    const slice = { tenant, where, tenants: null };
    const { rows } = await readStored({ db, records }, slice, ['2000-01-01T00:00:00.000000Z']);
    all.push([where, ...rows.map(({ record }) => record.event_id)]);
  }
  return all;
}

/** Compares what each `where` finds in either tier, and in a tail, with what the evaluator says. */
async function compare(tenant: string, sent: readonly string[], wheres: readonly string[]) {
  const rows = await store(tenant, sent);
  expect(rows).toHaveLength(sent.length);
  const expected = wheres.map((where) => {
    const tree = parseWhere(where);
    return [where, ...rows.filter((row) => evaluate(tree, row)).map(({ event_id }) => event_id)];
  });
  expect(await findEach(tenant, wheres)).toEqual(expected);
  expect(await followEach(tenant, wheres)).toEqual(expected);
  expect(await freeze(db, cold, { tenant, id: `seg_${tenant}` })).toBe(true);
  expect(await findEach(tenant, wheres)).toEqual(expected);
  return expected;
}

test('the tiers and the evaluator find the same records', async () => {
  let run = 0;
  let found = 0;
  await fc.assert(
    fc.asyncProperty(
      arbitraryRecords,
      fc.array(arbitraryWhere, { minLength: 25, maxLength: 25 }),
      async (makeRecords, wheres) => {
        const tenant = `T${++run}`;
        const sent = makeRecords(tenant);
        const all = await compare(tenant, sent, wheres);
        found += all.filter(({ length }) => length > 1 && length <= sent.length).length;
      },
    ),
    { numRuns: runs(2) },
  );
  // Some find all and some none, but a property about nothing would hold, too.
  expect(found).toBeGreaterThan(run * 5);
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

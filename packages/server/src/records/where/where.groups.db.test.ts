import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { numberedRecords } from '../ingest/testing/post-records.ts';
import type { RecordRow } from '../queries.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { bothTiers, ingest } from '../read/testing/walk.ts';
import { splitNames } from '../values.ts';
import { parseGroup, parseWhere } from './parse.ts';
import { arbitraryRecords, storedNumbers, texts } from './testing/arbitrary-where.ts';
import { evaluate, groupKey } from './testing/evaluate.ts';

// PostgreSQL, DuckDB and a rule of few lines agree on the split in which a group is.

const db = useTestDatabase();
const cold = useColdStore();
const records = bothTiers(db, cold);
const shares = { train: 34, validation: 33, test: 33 };
const all = { after: null, descending: false, limit: 500 };

async function store(tenant: string, sent: readonly string[]): Promise<RecordRow[]> {
  await ingest(db, cold, [sent]);
  return (await records.scan({ tenant, tenants: null }, all)).rows;
}

/** The ids in each split, as both tiers tell them. */
async function splitsBy(tenant: string, groupBy: string): Promise<string[][]> {
  const found: string[][] = [];
  for (const split of splitNames) {
    const { rows } = await records.scan({ tenant, tenants: null, shares, groupBy, split }, all);
    found.push(rows.map(({ event_id }) => event_id));
  }
  return found;
}

function expectedSplits(rows: readonly RecordRow[], keyOf: (row: RecordRow) => string | null) {
  const splitOf = (row: RecordRow) => {
    const hashed = hash('md5', keyOf(row) ?? row.event_id).slice(0, 8);
    const place = Math.floor((Number.parseInt(hashed, 16) * 100) / 2 ** 32);
    if (place < shares.train) return 'train';
    return place < shares.train + shares.validation ? 'validation' : 'test';
  };
  return splitNames.map((name) =>
    rows.filter((row) => splitOf(row) === name).map(({ event_id }) => event_id),
  );
}

function keyAt(groupBy: string) {
  const place = parseGroup(groupBy);
  if (!('path' in place)) throw new Error('it is a column');
  return (row: RecordRow) => groupKey(row, place.path);
}

test('groups of made-up records are in the same split in either tier', async () => {
  let run = 0;
  let grouped = 0;
  const paths = ['score', 'enrichment.label', 'score.0', `"a.b"`];
  await fc.assert(
    fc.asyncProperty(arbitraryRecords, async (makeRecords) => {
      const tenant = `G${++run}`;
      const rows = await store(tenant, makeRecords(tenant));
      const expected = paths.map((path) => expectedSplits(rows, keyAt(path)));
      for (const keyOf of paths.map(keyAt)) {
        grouped += rows.filter((row) => keyOf(row) !== null).length;
      }
      const inBoth = async () => {
        const found = [];
        for (const path of paths) found.push(await splitsBy(tenant, path));
        expect(found).toEqual(expected);
      };
      await inBoth();
      expect(await freeze(db, cold, { tenant, id: `seg_${tenant}` })).toBe(true);
      await inBoth();
    }),
    { numRuns: runs(3) },
  );
  expect(grouped).toBeGreaterThan(run);
});

test('values are of one group exactly when a where finds them equal', async () => {
  const scalars = [...storedNumbers, ...texts.map((text) => JSON.stringify(text)), 'true', 'null'];
  const values = [...scalars, '[1]', '{"a":1}'];
  const sent = numberedRecords('each', values.length, (n) => ({ enrichment: n })).map((record) =>
    JSON.stringify(record).replace(
      /"enrichment":(\d+)/,
      (_, n) => `"enrichment":{"v":${values[n]}}`,
    ),
  );
  const rows = await store('each', sent);
  const keyOf = keyAt('v');
  for (const scalar of scalars.filter((text) => !/[eE][+-]?\d{7}/.test(text))) {
    const isEqual = parseWhere(`v = ${scalar}`);
    const own = rows.find((row) => row.enrichment === `{"v":${scalar}}`);
    const key = own === undefined ? undefined : keyOf(own);
    const same = (fits: (row: RecordRow) => boolean) =>
      rows.filter(fits).map(({ event_id }) => event_id);
    expect(same((row) => keyOf(row) === key)).toEqual(same((row) => evaluate(isEqual, row)));
  }
  const expected = expectedSplits(rows, keyOf);
  expect(await splitsBy('each', 'v')).toEqual(expected);
  await freeze(db, cold, { tenant: 'each', id: 'seg_each' });
  expect(await splitsBy('each', 'v')).toEqual(expected);
});

test('a column groups like a key, and a record without it is a group by itself', async () => {
  const sent = numberedRecords('columns', 90, (n) => ({
    store: `S${n % 7}`,
    ...(n % 3 > 0 && { kind: `k${n % 4}` }),
    enrichment: {},
  })).map((record) => JSON.stringify(record));
  const rows = await store('columns', sent);
  const expected = [
    expectedSplits(rows, ({ store }) => `"${store}`),
    expectedSplits(rows, ({ kind }) => (kind === null ? null : `"${kind}`)),
  ];
  const found = async () => [await splitsBy('columns', 'store'), await splitsBy('columns', 'kind')];
  expect(await found()).toEqual(expected);
  await freeze(db, cold, { tenant: 'columns', id: 'seg_columns' });
  expect(await found()).toEqual(expected);
});

test.each([
  ['', 'character 1: expected a column or a key, found the end'],
  ['event_id', 'event_id is a column by which nothing is grouped: store, kind, source, model are'],
  ['a = 1', 'character 3: expected the end, found ='],
  ['store.x', 'store is a column and has no keys'],
  ['any(a)', 'expected a column or a key'],
])('refuses to group by %j', (text, message) => {
  expect(() => parseGroup(text)).toThrow(
    expect.objectContaining({
      code: 'request_invalid',
      errors: [
        expect.objectContaining({ path: '/group_by', message: expect.stringContaining(message) }),
      ],
    }),
  );
});

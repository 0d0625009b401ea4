import fc from 'fast-check';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { encodeArray } from './client.ts';

const db = useTestDatabase();

async function echo(values: unknown[], type: 'text' | 'bytea' | 'bigint' | 'boolean' | 'float8') {
  const casts = {
    text: sql`${values}::text[]`,
    bytea: sql`${values}::bytea[]`,
    bigint: sql`${values}::bigint[]`,
    boolean: sql`${values}::boolean[]`,
    float8: sql`${values}::float8[]`,
  };
  const rows = await db.query<{ value: unknown }>(
    sql`select value from unnest(${casts[type]}) with ordinality as sent(value, place) order by place`,
  );
  return rows.map((row) => row.value);
}

const odd = [
  '',
  ' ',
  'null',
  'NULL',
  '{}',
  '{a,b}',
  ',',
  '"',
  '\\',
  '\\"',
  "'",
  'a\nb',
  '\t',
  '😀',
  '\uffff',
  '\\x41',
];

test('every text comes back as it was sent', async () => {
  expect(await echo([...odd, null, undefined], 'text')).toEqual([...odd, null, null]);
  expect(await echo([], 'text')).toEqual([]);
  const text = fc
    .string({ unit: 'binary', maxLength: 20 })
    .filter((one) => one.isWellFormed() && !one.includes('\0'));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { minLength: 1 }), async (values) => {
      expect(await echo(values, 'text')).toEqual(values);
    }),
    { numRuns: runs(50) },
  );
});

test('bytes, numbers and truth values come back as they were sent', async () => {
  const bytes = [Buffer.from([]), Buffer.from([0, 92, 34, 255]), null];
  expect(await echo(bytes, 'bytea')).toEqual(bytes);
  expect(await echo([0, -1, 2 ** 53 - 1, 12n, null], 'bigint')).toEqual([
    0,
    -1,
    2 ** 53 - 1,
    12,
    null,
  ]);
  expect(await echo([0.1, -1e300, Number.NaN, Infinity], 'float8')).toEqual([
    0.1,
    -1e300,
    Number.NaN,
    Infinity,
  ]);
  expect(await echo([true, false], 'boolean')).toEqual([true, false]);
});

test('what is no array of plain values is left to the driver', () => {
  const nested = [['a'], ['b']];
  const dates = [new Date(0)];
  for (const value of ['a', 1, null, undefined, nested, dates, Buffer.from('a')]) {
    expect(encodeArray(value)).toBe(value);
  }
});

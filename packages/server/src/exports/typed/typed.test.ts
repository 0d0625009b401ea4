import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGate } from '../../kernel/gate.ts';
import { randomText } from '../../kernel/ids.ts';
import { JsonItems } from '../../kernel/json-items.ts';
import { literal } from '../../platform/duckdb.ts';
import { decimalOf } from '../../records/ingest/lint-record.ts';
import { useColdStore } from '../../records/read/testing/cold-store.ts';
import type { Snapshot } from '../encode/both-tiers.ts';
import { bytesOf } from '../encode/chunk-files.ts';
import { dialects } from '../encode/csv-cells.ts';
import { planColumns, reEncodeRows } from '../encode/re-encode.ts';
import { joinGroups, magic, writeFooter } from '../formats/parquet/footer.ts';
import { openParquetRows } from '../formats/parquet/parquet-rows.ts';
import { type FieldColumn, fieldTypeText } from '../values.ts';
import { ColumnInference } from './infer-columns.ts';
import { createTaker } from './take-apart.ts';
import { createRowTaker } from './take-row.ts';
import { putTogether } from './testing/put-together.ts';

const cold = useColdStore();

function infer(enrichments: readonly string[]) {
  const inference = new ColumnInference();
  for (const one of enrichments) inference.add(one);
  return inference.columns();
}

/** The columns of some enrichments, as `name TYPE`. */
function columnsOf(...enrichments: string[]): string[] {
  return infer(enrichments).columns.map(({ name, type }) => `${name} ${fieldTypeText(type)}`);
}

type Stored = { readonly enrichment: string; readonly confidence: string | null };

const own = ['bytes', 'event_id', 'confidence', 'enrichment'] as const;

/** Writes records as typed Parquet, and reads them back with DuckDB: each row as JSON text. */
async function roundTrip(records: readonly Stored[], fields: readonly FieldColumn[]) {
  const columns = { columns: [...own], fields };
  const { encode } = dialects.cells;
  const lines = records.map(({ enrichment, confidence }, n) =>
    ['200', encode({ text: String(n), isText: true }), confidence ?? '']
      .concat(encode({ text: enrichment, isText: true }))
      .join(','),
  );
  const { encodeRow, misfits } = createRowTaker(own, fields);
  const snapshot = {
    slice: { tenant: 'T', tenants: null },
    cold,
    spoolDir: cold.spoolDir,
    encoders: createGate(2),
    groupBytes: 1000,
    signal: AbortSignal.timeout(120_000),
  };
  const written = {
    async *whileConnected() {
      for (const line of lines) yield Buffer.from(`${line}\n`);
    },
    async *afterwards() {},
    rowCount: 0,
    digest: null,
    close: async () => {},
  };
  const source = reEncodeRows(written, planColumns(own), encodeRow);
  const rows = await openParquetRows(snapshot as unknown as Snapshot, source, columns);
  const path = join(cold.spoolDir, `typed-${randomText(8)}.parquet`);
  try {
    const bytes: Buffer[] = [magic];
    for await (const chunk of bytesOf(rows.whileConnected())) bytes.push(chunk);
    for await (const chunk of bytesOf(rows.afterwards())) bytes.push(chunk);
    await writeFile(path, Buffer.concat([...bytes, writeFooter(joinGroups(rows.groups), columns)]));
    const read = await cold.duckdb.run<{ row: string }>(
      `select to_json(r)::varchar as row from read_parquet(${literal(path)}) r order by event_id::int`,
    );
    return { rows: read.map(({ row }) => row), misfits: misfits() };
  } finally {
    await rows.close();
    await rm(path, { force: true });
  }
}

/** One spelling for all JSON texts of the same value. */
function canonical(text: string): string {
  const [first = ''] = text;
  if (first === '"') return JSON.stringify(JSON.parse(text));
  if (first !== '{' && first !== '[') return /^[-\d]/.test(first) ? decimalOf(text) : text;
  const items: string[] = [];
  for (const item = new JsonItems(text); item.next(); ) {
    const name = item.name === null ? '' : `${JSON.stringify(item.name)}:`;
    items.push(name + canonical(item.value));
  }
  return first === '{' ? `{${items.sort().join(',')}}` : `[${items.join(',')}]`;
}

const awkwardNumbers = [
  ...['0', '-0', '1.0', '1e3', '0.1', '0.50', '9007199254740993', '9223372036854775807'],
  ...['9223372036854775808', '-9223372036854775808', '123456789012345678901234567890.125'],
  ...['1e400', '1e-400', '0.12345678901234567890', '5e-324', '1E+2', `${'9'.repeat(60)}`],
];
const scalar = fc.oneof(
  fc.constantFrom(...awkwardNumbers),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom('true', 'false', 'null'),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\u00e9\\/"', '"\\"\\n,"', '""', '"null"', '"1"'),
);
const name = fc.constantFrom(
  ...['a', 'A', 'b c', 'd.e', '', 'model', 'EVENT_ID', '_rest', 'é"', 'fields', '__proto__'],
);
const { members } = fc.letrec<{ value: string; members: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    tie('members'),
  ),
  members: fc
    .uniqueArray(fc.tuple(name, tie('value')), { maxLength: 6, selector: ([key]) => key })
    .map((all) => `{${all.map(([key, one]) => `${JSON.stringify(key)}:${one}`).join(',')}}`),
}));
const record = fc.record({
  enrichment: members,
  confidence: fc.constantFrom(null, '0.5', '1', '0.10', '0.12345678901234567890'),
});

test('a record comes together again from its columns and its rest, exactly', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 12 }),
      fc.nat({ max: 12 }),
      async (records, sampled) => {
        const { columns } = infer(records.slice(0, sampled).map(({ enrichment }) => enrichment));
        const { rows } = await roundTrip(records, columns);
        expect(rows.length).toBe(records.length);
        for (const [n, { enrichment, confidence }] of records.entries()) {
          const whole = putTogether(rows[n] ?? '', columns);
          expect(canonical(whole.enrichment), rows[n]).toBe(canonical(enrichment));
          expect(whole.confidence && decimalOf(whole.confidence)).toBe(
            confidence && decimalOf(confidence),
          );
        }
      },
    ),
    { numRuns: 40 },
  );
}, 120_000);

test('infers the types that hold most values', () => {
  expect(
    columnsOf(
      '{"score":0.5,"n":1,"ok":true,"label":"x","origin":{"iata":"DFW","gate":4},"tags":["a",null]}',
      '{"score":1,"n":9223372036854775807,"legs":[{"km":1},{"km":2.5}],"label":null}',
    ),
  ).toEqual([
    'label VARCHAR',
    'legs STRUCT("km" DOUBLE)[]',
    'n BIGINT',
    'ok BOOLEAN',
    'origin STRUCT("gate" BIGINT, "iata" VARCHAR)',
    'score DOUBLE',
    'tags VARCHAR[]',
  ]);
  expect(columnsOf('{"a":1}', '{"a":"x"}', '{"a":"y"}')).toEqual(['a VARCHAR']);
  expect(columnsOf('{"a":12345678901234567890,"b":0.12345678901234567}')).toEqual([
    'a DECIMAL(38,0)',
    'b DECIMAL(38,17)',
  ]);
});

test('makes no column of what has no type, or several in one array', () => {
  expect(columnsOf('{"a":null,"b":{},"c":[],"d":[1,"x"],"e":{"f":null}}')).toEqual([]);
});

test('calls a field like a column of ours by its path, and keeps one of two that differ in case', () => {
  expect(columnsOf('{"model":1,"Split":2,"_rest":3,"a":4,"A":5}')).toEqual([
    ...['A BIGINT', 'enrichment.Split BIGINT', 'enrichment._rest BIGINT'],
    'enrichment.model BIGINT',
  ]);
});

test('makes a thousand columns of the fields that most records have', () => {
  const rare = Array.from({ length: 5_000 }, (_, n) => `{"id${n}":{"x":${n}},"last":1}`);
  const { columns, left_out } = infer(rare);
  expect(columns.length).toBe(1_000);
  expect(columns.map(({ field }) => field)).toContain('last');
  expect(left_out).toBe(4_001);
});

test('counts what does not fit by its field', async () => {
  const { columns } = infer(['{"a":1,"b":{"c":"x"}}']);
  const { rows, misfits } = await roundTrip(
    [
      { enrichment: '{"a":"one","b":{"c":"y","d":1}}', confidence: '0.12345678901234567890' },
      { enrichment: '{"a":2,"b":{"c":null},"other":1}', confidence: null },
      { enrichment: '{"a":3}', confidence: '0.5' },
    ],
    columns,
  );
  expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual([
    {
      event_id: '0',
      bytes: 200,
      confidence: null,
      a: null,
      b: { c: 'y' },
      _rest: '{"enrichment":{"a":"one","b":{"d":1}},"confidence":0.12345678901234567890}',
    },
    {
      event_id: '1',
      bytes: 200,
      confidence: null,
      a: 2,
      b: { c: null },
      _rest: '{"enrichment":{"b":{"c":null},"other":1}}',
    },
    { event_id: '2', bytes: 200, confidence: 0.5, a: 3, b: null, _rest: null },
  ]);
  expect(misfits).toEqual({ rows: 2, fields: { a: 1, b: 1 } });
});

test('tells rows apart in which nothing but a null is left over', async () => {
  const { columns } = infer(['{"a":1,"b":{"c":"x"}}']);
  const odd = ['{"a":null}', '{"b":{"c":null,"d":null}}', '{"new":null,"a":1}', '{"a":"x"}'];
  const records = [...odd, '{"b":{"c":1,"d":null}}', '{"a":1}'].map((enrichment) => ({
    enrichment,
    confidence: null,
  }));
  const { rows, misfits } = await roundTrip(records, columns);
  expect(rows.filter((row) => !row.includes('"_rest":null'))).toHaveLength(5);
  expect(misfits).toEqual({ rows: 2, nulls: 3, fields: { a: 1, b: 1 } });
});

test('a member that is there twice is written once, and one that is missing as null', () => {
  const fields: FieldColumn[] = [
    { name: 'a', field: 'a', type: 'bigint' },
    { name: 'b', field: 'b', type: 'bigint' },
  ];
  const take = createTaker(fields, () => {});
  const { fitting } = take('{"a":1,"a":2}');
  expect(fitting).toBe('{"a":2,"b":null}');
  expect(take('{"a":1,"a":2,"b":3}').fitting).toBe('{"a":2,"b":3}');
  expect(take('{"b": 3, "a": 1}')).toEqual({
    fitting: '{"b": 3, "a": 1}',
    rest: null,
    isOdd: false,
  });
});

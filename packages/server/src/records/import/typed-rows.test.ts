import fc from 'fast-check';
import { expect, test } from 'vitest';
import { literal } from '../../platform/duckdb.ts';
import { openDuckDbStream } from '../../platform/duckdb-stream.ts';
import type { ColumnType } from '../../platform/duckdb-types.ts';
import { LineReader } from '../ingest/batch-reader.ts';
import { hasKeyTwice, isPlainType, keysSql, recordsSql } from './typed-rows.ts';

const text: ColumnType = { kind: 'VARCHAR', isJson: false, names: [], parts: [], text: '' };
const struct = (...names: string[]): ColumnType => ({
  kind: 'STRUCT',
  isJson: false,
  names,
  text: '',
  parts: names.map(() => text),
});

test('a STRUCT is plain unless names of its fields differ only in case', () => {
  expect(isPlainType(struct('id', 'label'))).toBe(true);
  expect(isPlainType(struct('id', 'ID'))).toBe(false);
  const outer: ColumnType = { ...struct('a'), parts: [struct('id', 'Id')] };
  expect(isPlainType(outer)).toBe(false);
  expect(isPlainType({ ...text, isJson: true })).toBe(false);
});

/** Texts that are nearly such as ingest stores, and what two of them make. */
const written = [
  ...[
    '{"a":1}',
    '{"a":1,"a":2}',
    '{"a":{"b":1},"c":{"b":2}}',
    '{"a":[{"b":1,"b":2}]}',
    '{}',
    '{"a":"x\\"y\\":{"}',
  ],
  ...[
    '{"a":"\\u0061","\\u0061":1}',
    '{"a\\"b":1,"b":{"b":2}}',
    '{"a":"\\ud83d"}',
    '{"a":"\\ud83d\\ude00 é😀"}',
  ],
  ...[
    '{"a": 1}',
    '{"a":1,}',
    '{"a":[1,]}',
    '{"a":nan}',
    '{"a":-inf}',
    '{"a":"b,nan"}',
    '{"a":01}',
    '{"a":1.}',
    '{"a":-0.50e+09}',
  ],
  ...[
    '{"a":"\\u0000"}',
    '{"a":"\\x"}',
    '{"a":"\t"}',
    '[1]',
    '1',
    'null',
    '',
    '{"a":1}{"b":2}',
    '{"a":1}x',
    ' {"a":1}',
    '{,"a":1}',
  ],
  ...[
    '{"a" "b"}',
    '{"a":1:2}',
    '{"a":[}',
    '{a:1}',
    "{'a':1}",
    '{"a":1e999}',
    `{"a":${'1'.repeat(500)}}`,
    '{"a":tru}',
    '{"a":/**/1}',
  ],
  ...[99, 100, 101].map((depth) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`),
];

test('an enrichment that is text is taken only where ingest would store these very bytes', async () => {
  const duckdb = await openDuckDbStream({
    memoryBytes: 2 ** 28,
    threads: 1,
    signal: new AbortController().signal,
  });
  const cut = fc
    .tuple(fc.constantFrom(...written), fc.constantFrom(...written), fc.nat(30), fc.nat(30))
    .map(([a, b, i, j]) => a.slice(0, i) + b.slice(j));
  const made = fc.object({ key: fc.constantFrom('a', 'b', '"', '\\', '{', '😀') });
  const texts = [
    ...written,
    ...fc.sample(cut, 3000),
    ...fc.sample(made, 300).map((value) => JSON.stringify(value)),
  ].filter((text) => !/[\ud800-\udfff]/u.test(text));
  await duckdb.run(`create table typed as select 'T' as tenant, 'S' as store, 'e' as event_id,
    null::varchar as kind, null::varchar as source, null::varchar as model, null::varchar as confidence,
    timestamptz '2024-03-05 00:00:00Z' as occurred_at, unnest([${texts.map(literal).join(', ')}]) as enrichment`);
  const columns = await duckdb.describe('select * from typed');
  const rows = recordsSql('typed', { columns, maxEnrichmentBytes: 1000 });
  const query = `select enrichment, bytes::varchar, is_plain::varchar, ${keysSql} from (${rows})`;
  const reader = new LineReader({ nowMicros: Date.now() * 1000, maxEnrichmentBytes: 1000 });
  let taken = 0;
  for await (const { count, columns: cells } of duckdb.rows(query)) {
    for (let row = 0; row < count; row += 1) {
      const [text = '', bytes, isPlain, keys] = cells.map((cell) => cell[row] ?? '');
      const line = `{"tenant":"T","store":"S","event_id":"e","occurred_at":"2024-03-05T00:00:00.000000Z","enrichment":${text}}`;
      const { record } = reader.read(line);
      const isTaken = isPlain === 'true' && !hasKeyTwice(keys ?? '');
      if (isTaken) {
        expect([text, record?.enrichment, record?.bytes]).toEqual([text, text, Number(bytes)]);
        taken += 1;
      } else if (record?.enrichment === text && text.length < 200) expect(text).toContain('u0000');
    }
  }
  duckdb.close();
  expect(taken).toBeGreaterThan(100);
});

test('numbers that JSON has no word for are told from the same letters in texts', async () => {
  const duckdb = await openDuckDbStream({
    memoryBytes: 2 ** 28,
    threads: 1,
    signal: new AbortController().signal,
  });
  const texts = ['', 'nan', 'a,nan', ':-inf', '[inf', '\\",nan', '\\"', '"nan"', '\\\\,inf'];
  await duckdb.run(`create table typed as select 'T' as tenant, 'S' as store, 'e' as event_id,
    null::varchar as kind, null::varchar as source, null::varchar as model, null::varchar as confidence,
    timestamptz '2024-03-05 00:00:00Z' as occurred_at, {t: texts.t, n: numbers.n, u: texts.t} as enrichment
    from (select unnest([${texts.map(literal).join(', ')}]) as t) texts,
      (select unnest([1.5, 'nan'::double, 'inf'::double, '-inf'::double]) as n) numbers`);
  const columns = await duckdb.describe('select * from typed');
  const rows = recordsSql('typed', { columns, maxEnrichmentBytes: 1000 });
  const found: unknown[] = [];
  for await (const { count, columns: cells } of duckdb.rows(
    `select enrichment, is_plain::varchar from (${rows})`,
  )) {
    for (let row = 0; row < count; row += 1) {
      const [text = '', isPlain] = cells.map((cell) => cell[row] ?? '');
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(isPlain, text).toBe(String(isJson));
      found.push(isJson);
    }
  }
  duckdb.close();
  expect(found.filter(Boolean)).toHaveLength(texts.length);
  expect(found).toHaveLength(texts.length * 4);
});

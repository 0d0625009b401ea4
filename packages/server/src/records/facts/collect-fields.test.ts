import { expect, test } from 'vitest';
import { collect, columnKey, container, emptyCollection, isTelling } from './collect-fields.ts';

function collected(...enrichments: (string | null)[]) {
  const all = emptyCollection();
  collect(
    all,
    enrichments.map((enrichment, n) => ({
      store: 'A',
      day: `2001-0${n + 1}-05`,
      place: n,
      fits: true,
      enrichment,
      kind: null,
      source: 'LAX',
      model: null,
      confidence: String(n),
    })),
  );
  return all;
}

const column = (all: ReturnType<typeof collected>, name: string) =>
  all.columns.get(columnKey({ of: 'enrichment', name }));

test('names have dots, brackets for the elements of arrays, and quotes where they need them', () => {
  const all = collected(
    '{"a":{"b":1,"":2,"1.2":3},"5":6,"tags":["x",{"n":null},["y"]],"big":1e999,"huge":12345678901234567890}',
    '{"a":null}',
  );
  expect([...all.columns.keys()].map((key) => key.replace('enrichment/', ''))).toEqual([
    ...['record/kind', 'record/source', 'record/model', 'record/confidence'],
    ...['"5"', 'a', 'a.b', 'a.""', 'a."1.2"', 'tags'],
    ...['tags[]', 'tags[].n', 'tags[][]', 'big', 'huge'],
  ]);
  expect(column(all, 'a')).toMatchObject({ rows: [0, 1], values: [container.object, null] });
  expect(column(all, 'tags[]')).toMatchObject({ values: ['x', container.object, container.array] });
  expect(column(all, 'big')?.values).toEqual([Number.POSITIVE_INFINITY]);
  expect(column(all, 'huge')?.values).toEqual([Number('12345678901234567890')]);
  expect(all.months).toEqual(['2001-01', '2001-02']);
});

test('a field that only holds others is left to these, unless it is empty', () => {
  const all = collected('{"a":{"b":1},"e":{},"l":[],"n":{"m":1}}', '{"n":null}');
  const columns = [...all.columns.values()];
  const telling = columns.filter((one) => isTelling(one, columns));
  expect(telling.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['a.b', 'e', 'l', 'n', 'n.m']),
  );
  expect(telling.map(({ name }) => name)).not.toContain('a');
});

test('ids as names, long names, texts and arrays, and deep nesting stay bounded', () => {
  const ids = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`id${n}`, n]));
  const many = collected(JSON.stringify(ids));
  expect(many.columns.size).toBe(500);
  expect(many.leftOff).toBe(1);
  const long = collected(
    JSON.stringify({
      ['k'.repeat(300)]: 1,
      text: '\u{1f600}'.repeat(300),
      list: Array(900).fill(1),
    }),
  );
  expect(long.leftOff).toBe(1);
  expect(column(long, 'text')?.values).toEqual([`${'\u{1f600}'.repeat(100)}…`]);
  expect(column(long, 'list[]')?.values).toHaveLength(50);
  const deep = collected(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`);
  expect(deep.columns.size).toBe(4 + 8);
});

test('a record without its enrichment is counted, and nothing else of it', () => {
  const all = collected(null, '{"a":1}');
  expect(all).toMatchObject({ unread: 1, places: [1] });
  expect(column(all, 'a')?.rows).toEqual([0]);
});

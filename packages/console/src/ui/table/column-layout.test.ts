import fc from 'fast-check';
import { expect, test } from 'vitest';
import { offered } from './column.ts';
import {
  findBare,
  findLeaving,
  formatLayout,
  moveId,
  orderIds,
  ownLayout,
  parseLayout,
  shareRoom,
  sizeOf,
} from './column-layout.ts';

test('reads back what it has written', () => {
  const ids = fc.uniqueArray(fc.string());
  const layouts = fc.record({
    order: ids,
    shown: fc.dictionary(fc.string(), fc.boolean()),
    widths: fc.dictionary(fc.string(), fc.integer({ min: 1, max: 2000 })),
  });
  fc.assert(
    fc.property(layouts, (layout) => {
      expect(parseLayout(formatLayout(layout))).toEqual(layout);
    }),
  );
});

test.each([
  ['nothing', null],
  ['what is no JSON', '{"version":1'],
  ['what is no object', '[1]'],
  ['a layout that was reset', formatLayout(ownLayout)],
  ['another version', '{"version":2,"order":["a"],"shown":{"a":false},"widths":{}}'],
])('takes %s for no choice at all', (_, text) => {
  expect(parseLayout(text)).toBe(ownLayout);
});

test('leaves out what it cannot use, and keeps the rest', () => {
  const text = JSON.stringify({
    version: 1,
    order: ['b', 7, 'a', 'b'],
    shown: { a: false, b: 'no' },
    widths: { a: 120, b: -1, c: 'wide' },
  });
  expect(parseLayout(text)).toEqual({ order: ['b', 'a'], shown: { a: false }, widths: { a: 120 } });
});

test('orders columns as they were chosen, and puts a new one behind the one that it follows', () => {
  expect(orderIds(['a', 'b', 'c', 'd'], ['c', 'a'])).toEqual(['c', 'd', 'a', 'b']);
  expect(orderIds(['new', 'a', 'b'], ['b', 'a'])).toEqual(['new', 'b', 'a']);
  expect(orderIds(['a', 'b'], ['gone', 'b', 'a'])).toEqual(['b', 'a']);
  expect(orderIds(['a', 'b'], [])).toEqual(['a', 'b']);
});

test('orders each column once, whatever was chosen', () => {
  const ids = fc.uniqueArray(fc.constantFrom(...'abcdefgh'));
  fc.assert(
    fc.property(ids, ids, (own, chosen) => {
      expect(orderIds(own, chosen).toSorted()).toEqual(own.toSorted());
    }),
  );
});

test('moves a column to the place of another, in both directions', () => {
  expect(moveId(['a', 'b', 'c', 'd'], 'a', 'c')).toEqual(['b', 'c', 'a', 'd']);
  expect(moveId(['a', 'b', 'c', 'd'], 'd', 'b')).toEqual(['a', 'd', 'b', 'c']);
  expect(moveId(['a', 'b'], 'a', 'a')).toEqual(['a', 'b']);
});

test('lets columns of the highest rank leave until the others fit', () => {
  const columns = [
    { id: 'main', width: 200 },
    { id: 'size', width: 80, rank: 1 },
    { id: 'note', width: 120, rank: 3 },
    { id: 'when', width: 100, rank: 2 },
  ];
  const leavingAt = (roomPx: number) => [...findLeaving(columns, roomPx)];
  expect(leavingAt(500)).toEqual([]);
  expect(leavingAt(499)).toEqual(['note']);
  expect(leavingAt(379)).toEqual(['note', 'when']);
  expect(leavingAt(10)).toEqual(['note', 'when', 'size']);
});

test('lets what is only offered leave, however much room there is', () => {
  const columns = [
    { id: 'main', width: 200 },
    { id: 'field', width: 80, rank: offered },
    { id: 'note', width: 120, rank: 3 },
  ];
  expect([...findLeaving(columns, 5000)]).toEqual(['field']);
  expect([...findLeaving(columns, 320)]).toEqual(['field']);
  expect([...findLeaving(columns, 319)]).toEqual(['field', 'note']);
});

test('a column of nothing is bare, unless it is the main one, is kept, or has no value', () => {
  type Row = { a: string | null; b: number | null };
  const column = (id: 'a' | 'b', more: object = {}) => ({
    id,
    value: (row: Row) => row[id],
    ...more,
  });
  const rows: Row[] = [
    { a: null, b: 0 },
    { a: '–', b: null },
  ];
  expect(findBare([column('a'), column('b')], rows)).toEqual(['a']);
  expect(findBare([column('a', { isMain: true })], rows)).toEqual([]);
  expect(findBare([column('a', { isKept: true })], rows)).toEqual([]);
  expect(findBare([{ id: 'a' }], rows)).toEqual([]);
  expect(findBare([column('a')], [...rows, { a: 'x', b: 1 }])).toEqual([]);
  expect(findBare([column('a')], [])).toEqual([]);
});

test('a column has room for its longest text, and is no wider than that before another leaves', () => {
  const rows = [{ text: 'short' }, { text: 'x'.repeat(30) }];
  const value = (row: unknown) => (row as { text: string }).text;
  const column = { name: 'TEXT', width: 100, isText: true, value };
  expect(sizeOf(column, rows)).toEqual({ px: 100, wishPx: 232 });
  expect(sizeOf({ ...column, isMain: true }, rows)).toEqual({ px: 232, wishPx: 232 });
  expect(sizeOf(column, [{ text: 'short' }])).toEqual({ px: 52, wishPx: 52 });
  expect(sizeOf({ ...column, name: 'LAST STATUS' }, [{ text: '' }])).toEqual({
    px: 100,
    wishPx: 104,
  });
  expect(sizeOf({ ...column, isText: false }, rows)).toEqual({ px: 100, wishPx: 100 });
  expect(sizeOf({ ...column, shown: () => 'x'.repeat(5) }, rows)).toEqual({ px: 52, wishPx: 52 });
  expect(sizeOf(column, [])).toEqual({ px: 100, wishPx: 100 });
  const long = [{ text: 'x'.repeat(90) }];
  expect(sizeOf({ ...column, isMain: true }, long)).toEqual({ px: 280, wishPx: 664 });
});

test('shares the room that is left alike, and gives nobody more than the wish', () => {
  const columns = [
    { px: 100, wishPx: 120 },
    { px: 50, wishPx: 50 },
    { px: 100, wishPx: 400 },
    { px: 100, wishPx: 300 },
  ];
  expect(shareRoom(columns, 1000)).toEqual([120, 50, 400, 300]);
  expect(shareRoom(columns, 470)).toEqual([120, 50, 150, 150]);
  expect(shareRoom(columns, 300)).toEqual([100, 50, 100, 100]);
});

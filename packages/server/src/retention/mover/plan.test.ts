import { expect, test } from 'vitest';
import { chooseGroup } from './compact.ts';
import { chunkDays } from './plan-move.ts';

const mebibyte = 2 ** 20;
const day = (n: number, count: number, bytes = count) => ({ day: `2001-03-0${n}`, count, bytes });

test.each([
  ['all that fit', [day(1, 10), day(2, 20)], 2],
  ['up to a million records', [day(1, 600_000), day(2, 400_000), day(3, 1)], 2],
  ['up to 512 MiB', [day(1, 1, 500 * mebibyte), day(2, 1, 13 * mebibyte)], 1],
  ['a larger day by itself', [day(1, 5_000_000), day(2, 1)], 1],
  ['none of none', [], 0],
])('a move takes %s', (_name, days, taken) => {
  expect(chunkDays(days)).toEqual(days.slice(0, taken));
});

const segment = (id: string, size = mebibyte) => ({
  id,
  size_bytes: size,
  count: size / 20,
  bytes: 25 * size,
});
const ids = (group: { id: string }[] | null) => group?.map(({ id }) => id) ?? null;

test('fewer than four segments are left alone', () => {
  expect(chooseGroup([segment('a'), segment('b'), segment('c')], [])).toBeNull();
});

test('four neighbours are merged', () => {
  const four = ['a', 'b', 'c', 'd'].map((id) => segment(id));
  expect(ids(chooseGroup(four, []))).toEqual(['a', 'b', 'c', 'd']);
});

test('two that share a day are merged', () => {
  const overlaps = [{ a: 'a', b: 'b' }];
  expect(ids(chooseGroup([segment('a'), segment('b')], overlaps))).toEqual(['a', 'b']);
});

test('no merge gets larger than 128 MiB or takes more than a hundred', () => {
  const large = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => segment(id, 31 * mebibyte));
  expect(ids(chooseGroup(large, []))).toEqual(['a', 'b', 'c', 'd']);
  const many = Array.from({ length: 250 }, (_, n) => segment(String(n), 1000));
  expect(chooseGroup(many, [])).toHaveLength(100);
});

test('segments of large records are merged with their like only, up to 16 MiB', () => {
  const large = (id: string, bytes: number) => ({ id, size_bytes: bytes, count: 10, bytes });
  const mixed = [
    segment('a'),
    large('A', 15 * mebibyte),
    segment('b'),
    large('B', 15 * mebibyte),
    segment('c'),
    large('C', mebibyte),
    segment('d'),
  ];
  const overlaps = [
    { a: 'A', b: 'B' },
    { a: 'A', b: 'a' },
  ];
  expect(ids(chooseGroup(mixed, overlaps))).toEqual(['a', 'b', 'c', 'd']);
  expect(ids(chooseGroup(mixed.slice(1, -1), overlaps))).toBeNull();
  expect(ids(chooseGroup(mixed.slice(1, -1), [{ a: 'B', b: 'C' }]))).toEqual(['B', 'C']);
});

import { expect, test } from 'vitest';
import { firstDays } from './journal.ts';
import { mostMoved } from './move-hot-days.ts';

const mebibyte = 2 ** 20;
const day = (n: number, count: number, bytes = count) => ({ day: `2001-03-0${n}`, count, bytes });

test.each([
  ['all that fit', [day(1, 10), day(2, 20)], 2],
  ['up to a million records', [day(1, 600_000), day(2, 400_000), day(3, 1)], 2],
  ['up to 512 MiB', [day(1, 1, 500 * mebibyte), day(2, 1, 13 * mebibyte)], 1],
  ['a larger day by itself', [day(1, 5_000_000), day(2, 1)], 1],
  ['none of none', [], 0],
])('a move takes %s', (_name, days, taken) => {
  expect(firstDays(days, mostMoved)).toEqual(days.slice(0, taken));
});

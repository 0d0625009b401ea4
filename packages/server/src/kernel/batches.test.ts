import { expect, test } from 'vitest';
import { batchesOf } from './batches.ts';

async function* numbers(count: number) {
  for (let i = 1; i <= count; i += 1) yield i;
}

test.each([
  [0, []],
  [2, [[1, 2]]],
  [5, [[1, 2], [3, 4], [5]]],
])('gives %i numbers in batches of two', async (count, batches) => {
  const given: number[][] = [];
  for await (const batch of batchesOf(numbers(count), 2)) given.push(batch);
  expect(given).toEqual(batches);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bucketOf, edgesOf, quantileOf } from './buckets.ts';

const sorted = fc
  .array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 200 })
  .map((numbers) => numbers.map((value) => value + 0).sort((a, b) => a - b));

test('every number lies in the bucket that it is counted in, whatever its size', () => {
  fc.assert(
    fc.property(sorted, (numbers) => {
      const edges = edgesOf(numbers);
      expect(edges.length).toBeLessThanOrEqual(21);
      expect(edges).toEqual([...edges].sort((a, b) => a - b));
      for (const value of numbers) {
        const at = bucketOf(edges, value);
        expect(edges[at]).toBeLessThanOrEqual(value);
        expect(edges[at + 1]).toBeGreaterThanOrEqual(value);
      }
    }),
  );
});

test('edges are round, and one outlier does not hide the others', () => {
  const numbers = Array.from({ length: 1000 }, (_, n) => n / 1000);
  const edges = edgesOf([...numbers, 1e12]);
  expect(edges.slice(0, 4)).toEqual([0, 0.1, 0.2, 0.3]);
  expect(edges.at(-1)).toBe(1e12);
  expect(edges.length).toBeGreaterThan(10);
  expect(edgesOf([3, 3, 3])).toEqual([3, 3]);
  expect(edgesOf([0, 1, 1, 2])).toEqual([0, 1, 2]);
});

test('quantiles lie between the numbers they are taken from', () => {
  expect(quantileOf([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(quantileOf([7], 0.95)).toBe(7);
  expect(quantileOf([-1.7e308, 1.7e308], 0.5)).toBe(0);
  expect(quantileOf([], 0.5)).toBeNaN();
});

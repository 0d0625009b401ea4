import { expect, test } from 'vitest';
import type { FieldColumn, FieldValue } from './collect-fields.ts';
import { sharedEdges } from './describe-field.ts';
import { designOf } from './estimate.ts';
import { measureDrift, type Side } from './measure-drift.ts';

/** A slice of which these records were looked at; `undefined` is a record without the field. */
function sideOf(values: readonly (FieldValue | undefined)[], count = values.length): Side {
  const has = values.flatMap((value, row) => (value === undefined ? [] : [{ value, row }]));
  const column: FieldColumn = {
    name: 'f',
    of: 'enrichment',
    rows: has.map(({ row }) => row),
    values: has.map(({ value }) => value),
  };
  const places = values.map((_, n) => n % 40);
  return { column, design: designOf({ count, reach: values.length / count }, places) };
}

const drift = (a: Side, b: Side) => measureDrift(a, b, sharedEdges([a.column, b.column]));

test('the same is at the distance 0, what has nothing in common at 1', () => {
  const a = sideOf(['x', 'x', 'y', 3, null, undefined, true]);
  expect(drift(a, a)).toEqual({ distance: 0, noise: 0 });
  expect(drift(sideOf(['x', 'x']), sideOf(['y']))).toEqual({ distance: 1, noise: 0 });
  expect(drift(sideOf([1, 2]), sideOf([undefined]))).toMatchObject({ distance: 1 });
  expect(drift(sideOf([null]), sideOf([undefined]))).toMatchObject({ distance: 1 });
  expect(drift(sideOf(['1']), sideOf([1]))).toMatchObject({ distance: 1 });
  expect(drift(sideOf([Number.POSITIVE_INFINITY]), sideOf([1]))).toMatchObject({ distance: 1 });
});

test('of halves against all in one the distance is that of the formula', () => {
  // Shares (1/2, 1/2) and (1, 0): the divergence is 1 - 3/4 · log2(3) + 1/2 = 0.3113 bits.
  const { distance } = drift(sideOf(['x', 'y']), sideOf(['x']));
  expect(distance).toBeCloseTo(Math.sqrt(0.3113), 3);
});

/** Numbers below 1, always the same ones for a seed. */
function numbers(seed: number, count: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  });
}

test('two samples of the same stay below the noise, and a shift does not', () => {
  const labels = ['a', 'b', 'c', 'd'];
  const of = (seed: number, shift: number) =>
    sideOf(
      numbers(seed, 2000).map((value) => value + shift),
      2_000_000,
    );
  const textOf = (seed: number) =>
    sideOf(
      numbers(seed, 2000).map((value) => labels[Math.floor(value * 4)]),
      2_000_000,
    );
  const pairs = Array.from({ length: 40 }, (_, n) => [101 + n, 90_001 + n] as const);
  const ofNumbers = pairs.map(([a, b]) => drift(of(a, 0), of(b, 0)));
  const ofTexts = pairs.map(([a, b]) => drift(textOf(a), textOf(b)));
  for (const drifts of [ofNumbers, ofTexts]) {
    const above = drifts.filter(({ distance, noise }) => distance > noise);
    expect(above.length).toBeLessThanOrEqual(6);
    expect(drifts.filter(({ distance, noise }) => distance > noise / 3).length).toBeGreaterThan(20);
  }
  const shifted = drift(of(101, 0), of(90_001, 0.1));
  expect(shifted.distance).toBeGreaterThan(2 * shifted.noise);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseFull } from './hold-back.ts';

const bounds = { rows: 1000, bytes: 0 };
const backlog = (id: string, rows: number, more = {}) => ({
  id,
  tenant: 'TX',
  rows,
  bytes: rows * 100,
  is_held_back: false,
  ...more,
});
const counts = (count: number) => async (tenants: readonly string[]) =>
  new Map(tenants.map((tenant) => [tenant, count]));
const asksNothing = async () => {
  throw new Error('nobody is over');
};

test('nothing is held back from a tenant that has less than it may', async () => {
  expect(await chooseFull([backlog('a', 999)], bounds, asksNothing)).toEqual([]);
  const unbounded = { rows: 0, bytes: 0 };
  expect(await chooseFull([backlog('a', 1e9)], unbounded, asksNothing)).toEqual([]);
});

test('an endpoint with much is full, and those that deliver are not, nor those of others', async () => {
  const all = [backlog('a', 990), backlog('b', 10), backlog('c', 990, { tenant: 'CA' })];
  expect(await chooseFull(all, bounds, counts(2))).toEqual(['a']);
});

test('bytes count as rows do', async () => {
  expect(await chooseFull([backlog('a', 10)], { rows: 0, bytes: 1000 }, counts(1))).toEqual(['a']);
});

test('it ends when a tenth of what is allowed is free', async () => {
  const held = (rows: number) => [backlog('a', rows, { is_held_back: true })];
  expect(await chooseFull(held(901), bounds, counts(1))).toEqual(['a']);
  expect(await chooseFull(held(899), bounds, asksNothing)).toEqual([]);
});

test('whatever the endpoints get one after another, a tenant has at most half more than it may', async () => {
  const growth = fc.array(fc.tuple(fc.nat(9), fc.integer({ min: 1, max: 400 })), {
    minLength: 1,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(growth, async (steps) => {
      const rows = Array.from({ length: 10 }, (_, at) => backlog(String(at), 0));
      let full: string[] = [];
      // One by one, with a look after each: what comes between two looks is all that goes beyond.
      for (const [at, count] of steps) {
        for (let one = 0; one < count && !full.includes(String(at)); one++) {
          const row = rows[at];
          if (row !== undefined) row.rows += 1;
          for (const each of rows) each.is_held_back = full.includes(each.id);
          full = await chooseFull(rows, bounds, counts(10));
        }
      }
      expect(rows.reduce((sum, each) => sum + each.rows, 0)).toBeLessThanOrEqual(1500);
    }),
    { numRuns: 20 },
  );
});

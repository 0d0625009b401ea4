import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { compareRandom, useComparison } from './testing/compare.ts';

// More runs, and what takes longer: where.slow.db.test.ts.

const compare = useComparison();

test('the tiers and the evaluator find the same records', async () => {
  expect(await compareRandom(compare, runs(1))).toBeGreaterThan(0);
});

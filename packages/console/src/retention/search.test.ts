import { expect, test } from 'vitest';
import { retentionHref, validateRetentionSearch } from './search.ts';

test('reads links of earlier releases, and opens one panel only', () => {
  expect(validateRetentionSearch({ verify: 'vrf_1', open: '*', move: 'mov_1' })).toEqual({
    panel: 'tenant/*',
  });
  expect(validateRetentionSearch({ verify: 'vrf_1' })).toEqual({ panel: 'verification/vrf_1' });
});

test('links to a move over the journal', () => {
  expect(retentionHref('move', 'mov_1')).toBe('#/retention?view=journal&panel=move/mov_1');
  expect(retentionHref('tenant', '*')).toBe('#/retention?panel=tenant/*');
});

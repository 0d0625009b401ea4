import { expect, test } from 'vitest';
import { retentionHref, validateRetentionSearch } from './search.ts';

test('drops what it does not understand', () => {
  const raw = { view: 'tree', kind: 'steal', state: 'lost', q: '', colour: 'red', tenant: 'TX' };
  expect(validateRetentionSearch(raw)).toEqual({ tenant: 'TX' });
});

test('keeps the filters of the journal and its panel', () => {
  const raw = {
    view: 'journal',
    tenant: 'TX',
    kind: 'move',
    state: 'failed',
    panel: 'move/mov_1',
  };
  expect(validateRetentionSearch(raw)).toEqual(raw);
});

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

import { expect, test } from 'vitest';
import {
  drawerFields,
  drawerHref,
  drawerOf,
  parsePlaceText,
  placeText,
  validateRetentionSearch,
} from './search.ts';

test('drops what it does not understand', () => {
  const raw = { view: 'tree', kind: 'steal', state: 'lost', q: '', colour: 'red', tenant: 'TX' };
  expect(validateRetentionSearch(raw)).toEqual({ tenant: 'TX' });
});

test('keeps the filters of the journal and its drawer', () => {
  const raw = { view: 'journal', tenant: 'TX', kind: 'move', state: 'failed', move: 'mov_1' };
  expect(validateRetentionSearch(raw)).toEqual(raw);
});

test('opens one drawer only', () => {
  expect(validateRetentionSearch({ verify: 'ver_1', open: '*', move: 'mov_1' })).toEqual({
    open: '*',
  });
});

test('reads a tenant that is a number as text', () => {
  expect(drawerOf({ open: 42 })).toEqual({ kind: 'tenant', id: '42' });
});

test.each([
  { kind: 'tenant', id: 'a:b' },
  { kind: 'tenant', id: 'move' },
  { kind: 'move', id: 'mov_1' },
  { kind: 'verify', id: 'ver_1' },
] as const)('carries %o through its text and its fields', (place) => {
  expect(parsePlaceText(placeText(place))).toEqual(place);
  expect(drawerOf(drawerFields(place))).toEqual(place);
});

test('links to a move over the journal', () => {
  expect(drawerHref({ kind: 'move', id: 'mov_1' })).toBe('#/retention?view=journal&move=mov_1');
});

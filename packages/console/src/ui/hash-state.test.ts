import { expect, test } from 'vitest';
import {
  filtersOf,
  hasFilter,
  noneOf,
  parseSearch,
  parseSlicePath,
  sliceHref,
  stringifySearch,
  validateSignInSearch,
} from './hash-state.ts';

test('what is written is read back as the same text', () => {
  const search = {
    tenant: '2001',
    store: 'A & B',
    q: 'ä/ö?#%',
    record: 'T/S/2001-03-01T00:00:00Z/e',
  };
  expect(parseSearch(stringifySearch(search))).toEqual(search);
});

test('fields without a value are left out', () => {
  expect(stringifySearch({ a: undefined, b: null, c: '', d: 0 })).toBe('?d=0');
  expect(stringifySearch({})).toBe('');
});

test('slashes and colons stay readable', () => {
  expect(stringifySearch({ open: 'TX/DFW' })).toBe('?open=TX/DFW');
});

test('the first of repeated names counts', () => {
  expect(parseSearch('?a=1&a=2')).toEqual({ a: '1' });
});

test.each([
  ['//evil.example/x'],
  ['/\\evil.example'],
  ['https://evil.example'],
  ['/sign-in?code=x'],
  [''],
  [5],
])('the sign-in page does not go on to %j', (from) => {
  expect(validateSignInSearch({ from })).toEqual({});
});

test('the sign-in page goes on to a place of this console', () => {
  const search = { code: 'abc', from: '/records?tenant=TX' };
  expect(validateSignInSearch(search)).toEqual(search);
});

test.each([
  ['', { level: 'tenant' }],
  ['T', { level: 'tenant', q: 'T' }],
  ['TX/', { level: 'store', tenant: 'TX' }],
  ['TX/D', { level: 'store', tenant: 'TX', q: 'D' }],
  ['TX › DFW › 2001', { level: 'month', tenant: 'TX', store: 'DFW', q: '2001' }],
  ['TX / DFW /', { level: 'month', tenant: 'TX', store: 'DFW' }],
  ['/DFW', { level: 'tenant' }],
])('the path %j asks for %o', (path, expected) => {
  expect(parseSlicePath(path)).toEqual(expected);
});

const filters = { tenant: {}, state: {} };

test('tells filters from the rest', () => {
  expect(hasFilter({ panel: 'export/exp_1', cursor: 'abc' }, filters)).toBe(false);
  expect(hasFilter({ state: 'failed' }, filters)).toBe(true);
  expect(filtersOf({ state: 'failed' }, filters)).toEqual([undefined, 'failed']);
});

test('removes the cursor with the filters', () => {
  expect(noneOf(filters)).toEqual({ tenant: undefined, state: undefined, cursor: undefined });
  expect(Object.keys(noneOf(filters))).toEqual(['tenant', 'state', 'cursor']);
});

test('leads to the slice in RECORDS, which knows a month of a store only', () => {
  expect(sliceHref({ tenant: 'T X', store: 'DFW', month: '2001-03' })).toBe(
    '#/records?tenant=T+X&store=DFW&month=2001-03',
  );
  expect(sliceHref({ tenant: 'TX', month: '2001-03' })).toBe('#/records?tenant=TX');
});

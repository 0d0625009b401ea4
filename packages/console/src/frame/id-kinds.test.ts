import { expect, test } from 'vitest';
import { idKindOf, idKinds, isCutId, isSecret } from './id-kinds.ts';

test('no two kinds of id begin alike', () => {
  const prefixes = idKinds.map(({ prefix }) => prefix);
  expect(new Set(prefixes).size).toBe(prefixes.length);
});

test.each([
  ['dlv_07', 'delivery'],
  [' ver_4fTabcdefghijklm ', 'dataset version'],
  ['tok_1', 'access token'],
  ['event  dlv_07 of 3', 'event'],
])('%j names a %s', (text, noun) => {
  expect(idKindOf(text)?.noun).toBe(noun);
});

test.each(['', 'TX', 'dlv', 'dlv_', 'xyz_1', 'TX/dlv_1', 'svc_1', 'event ', 'events'])(
  '%j names nothing',
  (text) => {
    expect(idKindOf(text)).toBeUndefined();
  },
);

test('an id with its middle left out cannot be looked up', () => {
  expect(['dlv…7Kq2', 'msg…91ac', 'exp_…0aB9'].map(isCutId)).toEqual([true, true, true]);
  expect(['dlv_07Kq2', 'TX/DFW', '…'].map(isCutId)).toEqual([false, false, false]);
});

test('tokens and secrets of endpoints are secrets', () => {
  expect(['svc_abc', ' whsec_abc'].map(isSecret)).toEqual([true, true]);
  expect(isSecret('seg_abc')).toBe(false);
});

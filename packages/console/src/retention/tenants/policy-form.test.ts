import { expect, test } from 'vitest';
import {
  changeOf,
  countBefore,
  firstDayKept,
  isChanged,
  isGraver,
  valuesOf,
} from './policy-form.tsx';

const kept = { hot_days: 90, delete_days: 730, hold: false };
const values = valuesOf(kept);

test('cannot be sent without hot days', () => {
  expect(changeOf({ ...values, hotDays: '' })).toBeUndefined();
});

test('sends an empty deletion as never', () => {
  expect(changeOf({ ...values, deleteDays: '' })).toEqual({ ...kept, delete_days: null });
});

test('is unchanged as it was read', () => {
  expect(isChanged(kept, values)).toBe(false);
  expect(isChanged(kept, { ...values, hold: true })).toBe(true);
});

test.each([
  ['deleting sooner', kept, { deleteDays: 365 }],
  ['deleting at all', { ...kept, delete_days: null }, { deleteDays: 3650 }],
  ['the end of a hold', { ...kept, delete_days: null, hold: true }, { hold: false }],
])('asks about %s', (_, before, change) => {
  expect(isGraver(before, { ...valuesOf(before), ...change })).toBe(true);
});

test.each([
  ['deleting later', kept, { deleteDays: 3650 }],
  ['deleting never', kept, { deleteDays: '' }],
  ['fewer hot days', kept, { hotDays: 1 }],
  ['deleting sooner under a hold', kept, { deleteDays: 1, hold: true }],
] as const)('does not ask about %s', (_, before, change) => {
  expect(isGraver(before, { ...valuesOf(before), ...change })).toBe(false);
});

test('keeps as many whole days as the policy says', () => {
  expect(firstDayKept(1, Date.parse('2026-03-01T23:59:59Z'))).toBe('2026-02-28');
  expect(firstDayKept(36_500, 0)).toBe('1970-01-01');
});

test.each([
  ['2001-02', 6],
  ['2001-03', 3],
  ['2001-04', 0],
])('counts what of %s lies before the first day kept', (month, count) => {
  expect(countBefore(month, [1, 2, 3], '2001-03-03')).toBe(count);
});

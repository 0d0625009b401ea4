import { expect, test } from 'vitest';
import type { RecordKey } from '../queries.ts';
import { dayEdge, planTimes } from './plan-times.ts';

const day = (n: number, count: number, [first, last] = ['00:00:00.000000', '23:59:59.999999']) => ({
  day: `2001-01-0${n}`,
  count,
  bytes: count,
  first_at: `2001-01-0${n}T${first}Z`,
  last_at: `2001-01-0${n}T${last}Z`,
});
const key = (at: string, store = 'S'): RecordKey => ['T', store, `2001-01-${at}Z`, 'e'];
const rest = { tenant: 'T' };

test('a stretch of a day with many records is as long as those that are wanted take', () => {
  const days = [day(3, 2400), day(2, 1)];
  const back = planTimes(
    { days, end: null },
    { ...rest, after: null, descending: true, wanted: 100 },
  );
  expect(back).toEqual({
    first_at: '2001-01-03T23:00:00.000000Z',
    last_at: '2001-01-03T23:59:59.999999Z',
    end: ['T', '', '2001-01-03T23:00:00.000000Z', ''],
  });
  const after = key('03T12:00:00.000000');
  const on = planTimes(
    { days: [day(3, 2400)], end: null },
    { ...rest, after, descending: false, wanted: 100 },
  );
  expect(on).toEqual({
    first_at: '2001-01-03T12:00:00.000000Z',
    last_at: '2001-01-03T12:59:59.999999Z',
    end: ['T', '', '2001-01-03T13:00:00.000000Z', ''],
  });
});

test('days with few records are joined, and one that the stretch reaches is cut by its own times', () => {
  const days = [day(1, 10), day(3, 10), day(5, 100, ['10:00:00.000000', '10:59:59.999999'])];
  const on = { ...rest, after: null, descending: false };
  expect(planTimes({ days, end: null }, { ...on, wanted: 70 })).toMatchObject({
    first_at: '2001-01-01T00:00:00.000000Z',
    last_at: '2001-01-05T10:29:59.999999Z',
  });
  expect(planTimes({ days, end: null }, { ...on, wanted: 500 })).toMatchObject({
    last_at: '2001-01-05T23:59:59.999999Z',
    end: null,
  });
  const end = dayEdge('T', '2001-01-05', false);
  expect(end).toEqual(['T', '', '2001-01-06T00:00:00.000000Z', '']);
  expect(planTimes({ days, end }, { ...on, wanted: 500 })?.end).toEqual(end);
});

test('whole days are as many as hold what is wanted for sure, whatever is left of the first', () => {
  const days = [day(4, 100), day(3, 100), day(2, 100)];
  const after = key('04T12:00:00.000000');
  const whole = { ...rest, after, descending: true, wanted: 100, isWhole: true };
  expect(planTimes({ days, end: null }, whole)).toEqual({
    first_at: '2001-01-03T00:00:00.000000Z',
    last_at: '2001-01-04T12:00:00.000000Z',
    end: ['T', '', '2001-01-03T00:00:00.000000Z', ''],
  });
});

test('what follows the end of a stretch begins beside it, and nothing follows the last', () => {
  const days = [day(3, 5), day(2, 5)];
  const next = planTimes(
    { days, end: null },
    { ...rest, after: dayEdge('T', '2001-01-03', true), descending: true, wanted: 5 },
  );
  expect(next?.last_at).toBe('2001-01-02T23:59:59.999999Z');
  const after = dayEdge('T', '2001-01-02', true);
  expect(
    planTimes({ days, end: null }, { ...rest, after, descending: true, wanted: 5 }),
  ).toBeNull();
});

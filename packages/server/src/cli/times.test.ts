import { expect, test } from 'vitest';
import { readTime, readTimes } from './times.ts';

const nowMillis = Date.UTC(2026, 2, 5, 12);

test.each([
  [{}, {}],
  [{ from: '2h' }, { from: '2026-03-05T10:00:00.000000Z', to: '2999-12-31' }],
  [{ to: '2026-03-04' }, { from: '1970-01-01', to: '2026-03-04' }],
  [
    { from: '2026-03-05', to: '2026-03-05T10:30:00+01:00' },
    { from: '2026-03-05', to: '2026-03-05T09:30:00.000000Z' },
  ],
  [
    { from: '2026-03-05T10:00:00Z', to: '2026-03-05' },
    { from: '2026-03-05T10:00:00.000000Z', to: '2026-03-05' },
  ],
])('reads %j', (given, asked) => {
  expect(readTimes(given, nowMillis)).toEqual(asked);
});

test.each([
  [{ from: 'monday' }, '--from: "monday" is neither a time'],
  [{ from: '2026-02-30' }, 'is neither a time'],
  [{ from: '2026-03-05T10:00' }, 'is neither a time'],
  [{ from: '1h', to: '2h' }, '--from lies after --to'],
  [{ from: '2026-03-05', to: '2026-03-04T23:59:59Z' }, '--from lies after --to'],
])('refuses %j', (given, message) => {
  expect(() => readTimes(given, nowMillis)).toThrow(message);
});

test.each([
  ['first', '2026-03-05T00:00:00.000000Z'],
  ['last', '2026-03-05T23:59:59.999999Z'],
] as const)(
  'reads a day as its %s moment, and refuses one that is too far from now',
  (edge, at) => {
    const read = (text: string) => readTime('--to', text, { nowMillis, edge });
    expect(read('2026-03-05')).toBe(at);
    expect(() => read('2999-12-31')).toThrow('--to: "2999-12-31" is neither a time');
  },
);

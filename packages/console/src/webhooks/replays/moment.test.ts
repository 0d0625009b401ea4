import { expect, test } from 'vitest';
import { readMoment } from './moment.ts';

const nowMillis = Date.parse('2026-03-05T12:00:00Z');

test.each([
  ['24h', 'first', '2026-03-04T12:00:00.000Z'],
  ['7 d', 'first', '2026-02-26T12:00:00.000Z'],
  ['2026-03-05', 'first', '2026-03-05T00:00:00.000Z'],
  ['2026-03-05', 'last', '2026-03-06T00:00:00.000Z'],
  [' 2026-03-05 14:07 ', 'last', '2026-03-05T14:07:00.000Z'],
  ['2026-03-05T14:07:09Z', 'first', '2026-03-05T14:07:09.000Z'],
  ['2026-02-31', 'first', null],
  ['2026-03-05 25:00', 'first', null],
  ['yesterday', 'first', null],
  ['', 'first', null],
] as const)('"%s" as the %s moment of a range is %s', (text, edge, moment) => {
  expect(readMoment(text, { nowMillis, edge })).toBe(moment);
});

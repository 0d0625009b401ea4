import { describe, expect, test } from 'vitest';
import {
  formatAge,
  formatClock,
  formatCount,
  formatExactBytes,
  formatInstant,
  sharesOf,
  visibleJson,
  visibleText,
} from './format.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1_234_567, '1,234,567'],
])('the count %d reads %s', (count, text) => {
  expect(formatCount(count)).toBe(text);
});

test('a size is exact, and readable where it is large', () => {
  expect([999, 1000, 66_280].map(formatExactBytes)).toEqual([
    '999 B',
    '1,000 (1.0 kB)',
    '66,280 (66.3 kB)',
  ]);
});

describe('an instant', () => {
  test.each([
    ['2001-03-01T00:05:00.000000Z', '2001-03-01 00:05:00'],
    ['2001-03-01T00:05:00.120000Z', '2001-03-01 00:05:00.120000'],
    ['2026-03-05T14:07:09.123456Z', '2026-03-05 14:07:09.123456'],
    ['2026-03-05T14:07:09Z', '2026-03-05 14:07:09'],
    ['not a time', 'not a time'],
  ])('%s reads %s in UTC', (text, expected) => {
    expect(formatInstant(text, 'utc')).toBe(expected);
  });

  test('keeps its microseconds in local time', () => {
    const local = formatInstant('2026-03-05T14:07:09.123456Z', 'local');
    expect(local).toMatch(/^2026-03-0[456] \d\d:\d\d:09\.123456$/);
    expect(new Date(`${local.replace(' ', 'T').slice(0, 19)}`).getTime()).toBe(
      Date.UTC(2026, 2, 5, 14, 7, 9),
    );
  });
});

test('a moment reads as the time of day', () => {
  expect(formatClock(Date.UTC(2026, 0, 1, 12, 4, 10, 999), 'utc')).toBe('12:04:10');
});

test.each([
  [-5, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [3_599_999, '59 min'],
  [7_200_000, '2 h'],
  [172_800_000, '2 d'],
])('%d ms ago reads %s', (millis, text) => {
  expect(formatAge(millis)).toBe(text);
});

test('characters that cannot be seen are spelled out, and spaces at the ends are shown', () => {
  expect(visibleText('invoice\u202efdp.exe\u2066 \u05d0')).toBe(
    'invoice\\u202efdp.exe\\u2066 \u05d0',
  );
  expect(visibleText(' Acme\u200b Air ')).toBe('␣Acme\\u200b Air␣');
  expect(visibleText('ac\u0085me')).toBe('ac\\u0085me');
  expect(visibleText('a\u00adb\u3164\ufe0f\u{e0041}\u00a0')).toBe(
    'a\\u00adb\\u3164\\ufe0f\\udb40\\udc41␣',
  );
  for (const shown of ['\u2708\ufe0f Air', '👩🏽\u200d🚀', '🏳\ufe0f\u200d🌈'])
    expect(visibleText(shown)).toBe(shown);
  expect(visibleText('👩\u200da\u200d🚀')).toBe('👩\\u200da\\u200d🚀');
  expect(visibleJson('{"a":"x\u202ey"}')).toBe('{"a":"x\\u202ey"}');
});

test.each([
  [0, 0, [0, 0]],
  [5, 0, [100, 0]],
  [1, 999_999, [1, 99]],
  [999_999, 1, [99, 1]],
  [1, 2, [33, 67]],
])('splits %i and %i into %j', (part, rest, shares) => {
  expect(sharesOf(part, rest)).toEqual(shares);
});

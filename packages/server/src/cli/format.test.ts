import { expect, test } from 'vitest';
import { formatCount } from '../kernel/values.ts';
import * as format from './format.ts';
import { progressLine } from './progress.ts';
import { displayWidth, fitText, printable } from './table.ts';

test.each([
  [0, '0'],
  [999, '999'],
  [1_234_567, '1,234,567'],
])('formatCount(%d) is %s', (value, text) => expect(formatCount(value)).toBe(text));

test.each([
  [1_900, '1.9 s'],
  [12_300, '12 s'],
  [187_000, '3:07'],
  [3_723_000, '1:02:03'],
])('formatDuration(%d) is %s', (value, text) => expect(format.formatDuration(value)).toBe(text));

test.each([
  ['2026-03-05T10:00:00.000000Z', '2 h ago'],
  ['2026-04-04T11:59:59.900000Z', 'in 30 d'],
  ['2026-03-05T12:00:00.000000Z', 'now'],
  [null, '–'],
])('formatRelative(%s) is %s', (instant, text) => {
  expect(format.formatRelative(instant, Date.UTC(2026, 2, 5, 12))).toBe(text);
});

test.each([
  ['2001-03-01T00:05:00.000000Z', '2001-03-01 00:05:00'],
  ['2001-03-01T00:05:00.120000Z', '2001-03-01 00:05:00.120000'],
])('formatInstant(%s) is %s', (instant, text) => expect(format.formatInstant(instant)).toBe(text));

test('wide characters take two columns, marks none', () => {
  expect(displayWidth('東京')).toBe(4);
  expect(displayWidth('e\u0301')).toBe(1);
  expect(fitText('東京タワー', 6)).toBe('東京…');
  expect(fitText('abc', 3)).toBe('abc');
});

test('text of others cannot control the terminal', () => {
  expect(printable('a\u001b[31mb\tc\nd\u009b')).toBe('a [31mb c d ');
  expect(printable('exe.\u202efdp\u2066')).toBe('exe.fdp');
});

test('the progress line says how far, how fast, how long', () => {
  const options = { label: 'tx.csv', total: 512_991, describe: (rows: number) => `${rows} rows` };
  expect(progressLine(options, { done: 364_120, bytes: 174e6, elapsedMillis: 1900 })).toBe(
    'tx.csv  ██████████████░░░░░░  70 %   364120 rows   91.6 MB/s   0:01 left',
  );
});

test.each([
  ['Europe/Berlin', '2001-10-28T00:30:00.120000Z', '2001-10-28 02:30:00.120000 +02:00'],
  ['Europe/Berlin', '2001-10-28T01:30:00.000000Z', '2001-10-28 02:30:00 +01:00'],
  [':America/New_York', '2001-01-01T00:00:00.000001Z', '2000-12-31 19:00:00.000001 -05:00'],
  ['UTC', '2001-01-01T00:00:00.000000Z', '2001-01-01 00:00:00 +00:00'],
])('in the zone %s, %s is %s', (zone, instant, text) => {
  expect(format.localFormat({ TZ: zone }).format(instant)).toBe(text);
});

test('a zone that only the C library understands is that of the machine', () => {
  const { zone } = format.localFormat({ TZ: 'CET-1CEST' });
  expect(zone).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
});

import { expect, test } from 'vitest';
import {
  countOf,
  formatDistance,
  formatDuration,
  pathText,
  shellLine,
  shortId,
  sliceText,
} from './words.ts';

test.each([
  ['dlv_07t5zq0aXbCdEfGh7Kq2', 'dlv…7Kq2'],
  ['3f2a9b1c-aaaa-bbbb-cccc-1234567891ac', '3f2…91ac'],
  ['msg_short', 'msg_short'],
])('the id %s reads %s', (id, text) => {
  expect(shortId(id)).toBe(text);
});

test.each([
  [0, 'now'],
  [-90_000, '1 min ago'],
  [300_000, 'in 5 min'],
])('a moment %d ms off reads %s', (millis, text) => {
  const now = Date.UTC(2026, 0, 1);
  expect(formatDistance(new Date(now + millis).toISOString(), now)).toBe(text);
});

test('a duration and a count read as people say them', () => {
  expect([formatDuration(340), formatDuration(15_000)]).toEqual(['340 ms', '15.0 s']);
  expect([countOf(0, 'row'), countOf(1, 'row'), countOf(1200, 'delivery', 'deliveries')]).toEqual([
    'no rows',
    '1 row',
    '1,200 deliveries',
  ]);
});

test('a line for the shell quotes the empty word and everything that the shell would read', () => {
  expect(shellLine(['a', '', '$HOME', 'x*y', '~'])).toBe("a '' '$HOME' 'x*y' '~'");
});

test.each([
  [{ tenant: 'TX', store: 'DFW', month: '2001-03' }, 'TX › DFW › 2001-03'],
  [{ tenant: 'TX', from: '2001-03-01', to: '2001-03-31' }, 'TX › 2001-03-01 – 2001-03-31'],
  [{ tenant: 'TX', from: '2001-03-01', to: '2001-03-01' }, 'TX › 2001-03-01'],
])('names the slice %j', (slice, text) => {
  expect(sliceText(slice)).toBe(text);
});

test('names written from right to left keep their order in a path', () => {
  expect(pathText(['TX', 'DFW'])).toBe('TX › DFW');
  expect(pathText(['חברה', 'סניף'])).toBe('חברה\u200e › \u200eסניף');
});

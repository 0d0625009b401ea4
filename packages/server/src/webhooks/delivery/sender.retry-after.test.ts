import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRetryAfter } from './sender.ts';

const now = Date.parse('2026-03-05T14:00:00Z');
const parse = (text: string) => parseRetryAfter(text, now);

test.each([
  '',
  '-1',
  '1.5',
  '+3',
  '1e3',
  'soon',
  '12, 13',
  'Thu, 05 Mar 2026 14:01:00',
  'Thu, 05 Mar 2026 14:01:00 CET',
  'Thu, 05 Mär 2026 14:01:00 GMT',
  'Thu, 05 Mar 2026 25:01:00 GMT',
  'Fri, 05 Mar 2026 14:01:00 GMT',
  'Mon, 30 Feb 2026 14:01:00 GMT',
  'Thursday, 05-Mar-26 14:01:00 GMT',
  'Thu Mar  5 14:01:00 2026',
  '2026-03-05T14:01:00Z',
  'Invalid Date',
])('"%s" says nothing', (text) => {
  expect(parse(text)).toBeNull();
});

test.each([
  ['0', 0],
  ['120', 120],
  [' 7 ', 7],
  ['86400', 86_400],
  ['86401', 86_400],
  ['9'.repeat(400), 86_400],
  ['Thu, 05 Mar 2026 14:01:00 GMT', 60],
  ['Thu, 05 Mar 2026 13:00:00 GMT', 0],
  ['Fri, 05 Mar 2027 14:00:00 GMT', 86_400],
])('"%s" is %i seconds', (text, seconds) => {
  expect(parse(text)).toBe(seconds);
});

test('every date as Date writes it is read, rounded up to the second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 86_400_000 }), (ahead) => {
      const date = new Date(Math.floor((now + ahead) / 1000) * 1000);
      return parse(date.toUTCString()) === (date.getTime() - now) / 1000;
    }),
  );
});

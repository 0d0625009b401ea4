import { expect, test } from 'vitest';
import { parseSchedule } from './schedule.ts';

test.each([
  '',
  'never',
  'daily',
  '@daily',
  '* * * *',
  '* * * * * *',
  '60 * * * *',
  '0 24 * * *',
  '0 0 0 * *',
  '0 0 * 13 *',
  '? * * * *',
  '0 0 30 2 *',
  '2026-03-01T00:00:00',
  'a b c d e',
])('refuses %j and names the setting', (text) => {
  expect(() => parseSchedule(text)).toThrow(
    expect.objectContaining({
      code: 'settings_invalid',
      detail: expect.stringContaining('SVC_RETENTION_SCHEDULE'),
    }),
  );
});

test('off is never', () => {
  expect(parseSchedule('off')).toBeNull();
  expect(parseSchedule(' off ')).toBeNull();
});

test.each([
  ['17 3 * * *', '2026-03-05T03:16:59.999Z', '2026-03-05T03:17:00.000Z'],
  ['17 3 * * *', '2026-03-05T03:17:00.000Z', '2026-03-06T03:17:00.000Z'],
  ['  */15   * * * * ', '2026-03-05T03:17:00.000Z', '2026-03-05T03:30:00.000Z'],
  ['0 0 * * MON', '2026-03-05T00:00:00.000Z', '2026-03-09T00:00:00.000Z'],
  ['0 0 29 2 *', '2026-03-05T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
])('%j after %s falls on %s, in UTC', (text, after, next) => {
  expect(parseSchedule(text)?.next(Date.parse(after))).toBe(Date.parse(next));
});

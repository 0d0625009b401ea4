import { expect, it } from 'vitest';
import { healthText, hoursText, okShareOf, urlEnd } from './endpoint.tsx';

const hours = (delivered: number[], failed: number[], abandoned: number[]) => ({
  from: '2026-03-05T14:00:00.000000Z',
  delivered,
  failed,
  abandoned,
});

it('says what became of the attempts', () => {
  expect(hoursText(hours([1200, 4], [0, 3], [0, 0]))).toBe(
    '2 h: 1,204 delivered, 3 failed, none abandoned',
  );
});

it('has a share of attempts, and none of nothing', () => {
  expect(okShareOf(hours([3, 0], [0, 0], [0, 1]))).toBe(0.75);
  expect(okShareOf(hours([0, 0], [2, 0], [0, 0]))).toBe(0);
  expect(okShareOf(hours([0, 0], [0, 0], [0, 0]))).toBeNull();
  expect(okShareOf(undefined)).toBeNull();
});

it.each([
  ['https://hooks.acme.example/tenant/in', '.acme.example/tenant/in'],
  ['https://hooks.acme.example', '.acme.example'],
  ['127.0.0.1:9000/in', '.0.1:9000/in'],
  ['https://a.example/some/very/long/path/to/a/place/in', '/in'],
  ['http://a.example/abcdefghijklmnopqrstuvwxyzabcdefgh', undefined],
])('of the URL %s stays %s', (url, end) => {
  expect(urlEnd(url)).toBe(end);
});

it.each([
  ['ok', 0, 'ok'],
  ['degraded', 0, 'degraded'],
  ['degraded', 1204, 'degraded: 1,204 failed'],
  ['failing', 20, 'failing'],
] as const)(
  'one that is %s after %i failures in a row is told as: %s',
  (health, failures, text) => {
    const breaker = { state: 'closed', failures_in_row: failures, paused_until: null } as const;
    const backlog = { count: 0, is_exact: true, is_discarding: false };
    const none = { enabled: true, disabled_reason: null, disabled_by: null, held_back: null };
    expect(healthText({ health, breaker, backlog, ...none })).toBe(text);
  },
);

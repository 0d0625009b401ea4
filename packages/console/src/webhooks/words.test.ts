import { expect, test } from 'vitest';
import { healthOf, splitTarget } from './words.ts';

test.each([
  ['https://hooks.acme.example/tenant/in', ['https://hooks.acme.example/tenant', '/in']],
  ['https://hooks.acme.example', ['https://hooks.acme.example', '']],
  [
    'http://a.example/abcdefghijklmnopqrstuvwxyz',
    ['http://a.example/abcdefghijklmnopqrstuvwxyz', ''],
  ],
])('the target %s keeps its end', (target, parts) => {
  expect(splitTarget(target)).toEqual(parts);
});

test.each([
  ['ok', true, 'closed', 0],
  ['degraded', true, 'closed', 1],
  ['failing', true, 'open', 20],
  ['failing', true, 'probing', 20],
  ['disabled', false, 'open', 20],
] as const)('an endpoint is %s', (health, enabled, state, failures) => {
  const breaker = { state, failures_in_row: failures, paused_until: null };
  expect(healthOf({ enabled, breaker })).toBe(health);
});

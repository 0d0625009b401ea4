import { expect, test } from 'vitest';
import { healthOf } from './endpoint-health.tsx';

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

test.each([
  ['ok', [0, 19, 0], [0, 1, 0]],
  ['ok', [0, 0, 0], [9, 0, 0]],
  ['degraded', [0, 18, 0], [0, 1, 0]],
  ['degraded', [50, 0, 1], [0, 0, 1]],
])('an endpoint is %s that delivered %j and failed %j', (health, delivered, failed) => {
  const breaker = { state: 'closed', failures_in_row: 0, paused_until: null } as const;
  const hours = { from: '', delivered, failed, abandoned: [0, 0, 0] };
  expect(healthOf({ enabled: true, breaker, hours })).toBe(health);
});

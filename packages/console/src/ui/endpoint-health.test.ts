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

import { expect, test } from 'vitest';
import { type WaitFacts, whySilent, whyStillDue, whyWaiting } from './waiting.ts';

const later = '2026-03-05T14:07:09.123456Z';
const facts = (changes: Partial<WaitFacts>): WaitFacts => ({
  status: 'pending',
  failure_class: 'status',
  attempts: 3,
  max_attempts: 8,
  next_retry: later,
  is_early: true,
  held_by: 'schedule',
  order_key: null,
  waits_for: null,
  is_probe: false,
  leased_until: null,
  is_enabled: true,
  is_polled: false,
  polled_at: null,
  disabled_reason: null,
  disabled_at: null,
  disabled_by: null,
  is_deleted: false,
  paused_until: null,
  throttled_until: null,
  failures_in_row: 0,
  rate_limit: null,
  ...changes,
});

test('what goes in order waits for what goes before it, whatever else holds it up', () => {
  const waiting = { status: 'queued', order_key: 'case 1', waits_for: 'dlv_1' } as const;
  expect(whyWaiting(facts({ ...waiting, paused_until: later }))).toEqual({
    reason: 'order',
    until: null,
    text: 'dlv_1 of the same key (case 1) goes before it',
  });
  expect(whyWaiting(facts({ ...waiting, is_enabled: false }))).toMatchObject({
    reason: 'disabled',
  });
});

test('nothing is waited for when it is delivered or discarded', () => {
  expect(whyWaiting(facts({ status: 'delivered', is_enabled: false }))).toBe('finished');
  expect(whyWaiting(facts({ status: 'discarded', is_deleted: true }))).toBe('finished');
});

test.each([
  [
    { is_enabled: false, leased_until: later },
    'disabled',
    null,
    /by an operator. Enable it to deliver$/,
  ],
  [
    { is_enabled: false, disabled_reason: 'operator', disabled_at: later, disabled_by: 'ops' },
    'disabled',
    null,
    /^the endpoint is disabled since 2026-03-05 14:07:09 UTC by an operator \(ops\)\. Enable/,
  ],
  [
    { is_enabled: false, disabled_reason: 'failing', disabled_at: later },
    'disabled',
    null,
    /by the service, because it failed for days\. Enable it once the receiver is back/,
  ],
  [
    { is_enabled: false, disabled_reason: 'gone', disabled_at: later },
    'disabled',
    null,
    /since 2026-03-05 14:07:09 UTC by its receiver, which answered 410 Gone\. Enable it once/,
  ],
  [{ is_enabled: false, status: 'abandoned' }, 'disabled', null, /Enable it, then retry$/],
  [
    { status: 'abandoned', failure_class: 'endpoint_disabled', attempts: 0, max_attempts: 0 },
    'parked',
    null,
    /^its endpoint was disabled for too long: retry to send it again$/,
  ],
  [
    { status: 'abandoned', failure_class: 'expired', attempts: 0, max_attempts: 0 },
    'parked',
    null,
    /^it was not delivered in the time that its endpoint allows: retry/,
  ],
  [{ is_deleted: true }, 'disabled', null, /^the endpoint is disabled: it was deleted/],
  [{ leased_until: later, status: 'queued' }, 'in_flight', later, /under way/],
  [
    { status: 'abandoned', attempts: 8, paused_until: later },
    'parked',
    null,
    /8 of 8 .*retry to send it again/,
  ],
  [
    { paused_until: later, failures_in_row: 20 },
    'breaker',
    later,
    /20 times in a row and is paused until 2026-03-05 14:07:09 UTC; a retry passes/,
  ],
  [{ paused_until: later, status: 'queued' }, 'breaker', later, /then one row is tried first/],
  [{ paused_until: later, is_probe: true }, 'schedule', later, /attempt 4 of 8/],
  [{ held_by: 'retry_after' }, 'retry_after', later, /Retry-After/],
] as const)('%o is told as %s', (changes, reason, until, text) => {
  expect(whyWaiting(facts(changes))).toMatchObject({
    reason,
    until,
    text: expect.stringMatching(text),
  });
});

test('what is due waits for a drainer, for the rate of its endpoint, or only for its turn', () => {
  const due = facts({ status: 'queued', is_early: false, rate_limit: 5 });
  expect(whyWaiting(due)).toBe('ask_for_drainer');
  expect(whyStillDue(due, false)).toMatchObject({
    reason: 'no_drainer',
    text: expect.stringContaining('svcctl drain'),
  });
  expect(whyStillDue(due, true)).toMatchObject({
    reason: 'rate',
    text: expect.stringContaining('5 '),
  });
  expect(whyStillDue(facts({ is_early: false }), true).reason).toBe('due');
});

test('a drainer that does not answer is told with who takes over, and when', () => {
  const silence = { seconds: 40.7, passes_in: 4.2, passes_at: later };
  expect(whySilent(silence, true)).toEqual({
    reason: 'silent_drainer',
    until: later,
    text: 'its drainer has not answered for 40 s; another takes over in 5 s',
  });
  expect(whySilent(silence, false).text).toMatch(
    /^its drainer has not answered for 40 s, and no other runs\. Start one, which takes over in 5 s: /,
  );
});

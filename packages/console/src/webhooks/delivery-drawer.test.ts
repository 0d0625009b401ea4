import { expect, test } from 'vitest';
import { curlLine, standingWords, whyNoRetry } from './delivery-drawer.tsx';

test('a delivery reads as one command, whatever its body holds', () => {
  const sent = {
    target: 'https://a.example/in?x=1',
    idempotency_key: 'msg_1',
    body: `{"a":"it's"}`,
  };
  expect(curlLine(sent)).toBe(
    `curl -sS -i -X POST -H 'content-type: application/json' -H 'webhook-id: msg_1' ` +
      `--data-raw '{"a":"it'\\''s"}' 'https://a.example/in?x=1'`,
  );
});

test('only what is pending or abandoned can be retried, and only to an enabled endpoint', () => {
  const because = (reason: 'parked' | 'schedule' | 'disabled' | 'in_flight') => ({
    reason,
    until: null,
    text: '',
  });
  const whyNot = (delivery: Omit<Parameters<typeof whyNoRetry>[0], 'failure_class'>) =>
    whyNoRetry({ ...delivery, failure_class: null });
  expect(whyNot({ status: 'abandoned', waiting: because('parked') })).toBeNull();
  expect(whyNot({ status: 'pending', waiting: because('schedule') })).toBeNull();
  expect(whyNot({ status: 'pending', waiting: because('in_flight') })).toContain('under way');
  expect(whyNot({ status: 'abandoned', waiting: because('disabled') })).toContain('disabled');
  expect(whyNot({ status: 'queued', waiting: null })).toContain('queued already');
  const erased = {
    status: 'abandoned',
    waiting: because('parked'),
    failure_class: 'erased',
  } as const;
  expect(whyNoRetry(erased)).toContain('erased');
  expect(whyNot({ status: 'delivered', waiting: null })).toContain('is delivered');
  expect(whyNot({ status: 'discarded', waiting: null })).toContain('is discarded');
});

test.each([
  ['queued', null, 'due at once'],
  ['queued', 'due', 'due at once'],
  ['queued', 'breaker', 'goes when the breaker of its endpoint lets a trial go'],
  ['pending', 'breaker', 'goes when the breaker of its endpoint lets a trial go'],
  ['queued', 'retry_after', 'goes when its receiver takes more'],
  ['queued', 'disabled', 'goes once its endpoint is enabled'],
  ['pending', 'schedule', 'failed, tried again by itself'],
  ['abandoned', 'disabled', 'parked: no attempts are left'],
] as const)('what is %s and waits by %s is told as: %s', (status, reason, words) => {
  const waiting = reason && { reason, until: null, text: '' };
  expect(standingWords({ status, waiting })).toBe(words);
});

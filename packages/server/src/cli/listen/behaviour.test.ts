import { expect, test } from 'vitest';
import { answerText, chooseAnswer, isAccepting, type ListenOptions } from './behaviour.ts';

type Told = Pick<ListenOptions, 'mode' | 'status' | 'failFirst' | 'delay'>;
/** What three deliveries are answered with, the last of which came before. */
const answers = (told: Told) =>
  [1, 2, 3].map((number) => answerText(chooseAnswer(told, { number, isDuplicate: number === 3 })));

test.each<[Told, string[]]>([
  [{ mode: 'ok' }, ['204', '204', '204']],
  [{ mode: 'ok', status: 503 }, ['503', '503', '503']],
  [{ mode: 'ok', status: 503, failFirst: 2 }, ['503', '503', '204']],
  [{ mode: 'ok', failFirst: 1 }, ['500', '204', '204']],
  [{ mode: 'fail' }, ['500', '500', '500']],
  [{ mode: 'fail', status: 429 }, ['429', '429', '429']],
  [{ mode: 'hang', failFirst: 1 }, ['hang', '204', '204']],
  [{ mode: 'reset' }, ['reset', 'reset', 'reset']],
  [{ mode: 'redirect', status: 307 }, ['307', '307', '307']],
  [{ mode: 'gone' }, ['410', '410', '410']],
  [{ mode: 'bomb' }, ['200 bomb', '200 bomb', '200 bomb']],
  [{ mode: 'flaky' }, ['500', '500', '204']],
  [{ mode: 'slow' }, ['204', '204', '204']],
])('%j answers %j', (told, expected) => {
  expect(answers(told)).toEqual(expected);
});

test('slow waits 5 s, or as long as it is told', () => {
  const delayOf = (told: Told) => chooseAnswer(told, { number: 1, isDuplicate: false }).delayMillis;
  expect(delayOf({ mode: 'slow' })).toBe(5000);
  expect(delayOf({ mode: 'slow', delay: 20 })).toBe(20);
  expect(delayOf({ mode: 'fail', delay: 20 })).toBe(20);
  expect(delayOf({ mode: 'ok' })).toBe(0);
});

test('only an answer of 2xx accepts', () => {
  const accepts = (told: Told) =>
    isAccepting(chooseAnswer(told, { number: 1, isDuplicate: false }));
  expect(accepts({ mode: 'ok' })).toBe(true);
  for (const mode of ['fail', 'hang', 'reset', 'bomb', 'redirect', 'gone'] as const) {
    expect(accepts({ mode })).toBe(false);
  }
  expect(accepts({ mode: 'ok', status: 404 })).toBe(false);
});

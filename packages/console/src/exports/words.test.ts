import { expect, test } from 'vitest';
import {
  attemptsText,
  hasRun,
  isOpen,
  paceText,
  percentText,
  proofText,
  rowsText,
} from './words.ts';

test.each([
  ['running', 364_120, 512_991, '364,120 of 512,991'],
  ['running', 10, null, '10'],
  ['completed', 512_991, 512_991, '512,991'],
  ['cancelled', 5, 512_991, '5 of 512,991'],
  ['erased', 512_991, 512_991, '512,991'],
] as const)('says of a %s export with %s of %s rows: %s', (state, done, total, text) => {
  expect(rowsText({ state, rows_done: done, rows_total: total })).toBe(text);
});

test('says 100 % only of all rows', () => {
  expect(percentText({ percent: 99.99 })).toBe('99 %');
  expect(percentText({ percent: 100 })).toBe('100 %');
  expect(percentText({ percent: null })).toBe('–');
});

test.each([
  [412_310, 65, '412,310/s · 1 min'],
  [412_310, null, '412,310/s'],
  [null, 3, '3 s'],
  [null, null, '–'],
  [0, null, '–'],
])('says %s rows a second with %s s left as %s', (rate, left, text) => {
  expect(paceText({ rows_per_second: rate, eta_s: left })).toBe(text);
});

test('follows what waits or runs', () => {
  const ended = ['completed', 'failed', 'cancelled', 'erased'] as const;
  const open = (['queued', 'running', 'waiting', ...ended] as const).filter((state) =>
    isOpen({ state }),
  );
  expect(open).toEqual(['queued', 'running', 'waiting']);
});

test.each([
  ['running', null, true],
  ['waiting', '2026-01-01T01:59:00.001000Z', true],
  ['waiting', '2026-01-01T01:59:00.000000Z', false],
  ['waiting', '2026-01-01T02:00:15.000000Z', true],
  ['waiting', '2026-01-01T02:00:15.001000Z', false],
  ['paused', null, false],
] as const)('follows a schedule that is %s and due at %s: %s', (state, due_at, isFollowed) => {
  expect(hasRun({ state, due_at }, Date.parse('2026-01-01T02:00:00Z'))).toBe(isFollowed);
});

test('claims no more than was proved', () => {
  expect(proofText({ proof: 'content' })).toContain('computed anew');
  expect(proofText({ proof: 'sample' })).toContain('One in sixteen');
  expect(proofText({ proof: 'rows' })).toContain('do not hold all');
});

test('tells a job that was resumed', () => {
  expect(attemptsText({ attempts: 1 })).toBe('taken up once');
  expect(attemptsText({ attempts: 3 })).toContain('3 times');
});

import { expect, test } from 'vitest';
import { percentText, progressText } from './words.ts';

test.each([
  [364_120, 512_991, 'records', '70 %', '364,120 of 512,991 records'],
  [1, 1, 'records', '99 %', '1 record'],
  [0, null, 'records', null, 'no records'],
  [41, null, 'deliveries', null, '41 deliveries'],
  [0, 1, 'deliveries', '0 %', '0 of 1 delivery'],
  [1_500_000, 3_000_000, 'bytes', '50 %', '1.5 MB of 3.0 MB'],
  [0, 0, 'bytes', null, '0 B'],
  [12, 10, 'records', '99 %', '12 records'],
] as const)('%s of %s %s are %s: %s', (done, total, unit, percent, text) => {
  const job = { state: 'running', progress: { done, total, unit } } as const;
  expect(percentText(job)).toBe(percent);
  expect(progressText(job)).toBe(text);
});

test('a kind that tells no progress has none', () => {
  expect(percentText({ state: 'running', progress: null })).toBeNull();
  expect(percentText({ state: 'completed', progress: null })).toBe('100 %');
  expect(progressText({ progress: null })).toBeNull();
});

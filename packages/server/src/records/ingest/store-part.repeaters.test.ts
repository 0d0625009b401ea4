import { expect, test } from 'vitest';
import { createRepeaters } from './store-part.ts';

test('senders who repeat are told apart by their tokens, and those long silent are forgotten', () => {
  const repeaters = createRepeaters();
  repeaters.note('repeating', true);
  expect(repeaters.has('other')).toBe(false);
  for (let token = 0; token < 999; token += 1) repeaters.note(`t${token}`, true);
  expect(repeaters.has('repeating')).toBe(true);
  repeaters.note('repeating', true);
  repeaters.note('one more', true);
  expect(repeaters.has('t0')).toBe(false);
  expect(repeaters.has('repeating')).toBe(true);
  repeaters.note('repeating', false);
  expect(repeaters.has('repeating')).toBe(false);
});

import { expect, test } from 'vitest';
import { createNovelties, Novelty } from './store-part.ts';

/** Sends so many parts, and returns how many were tried as new. */
function send(novelty: Novelty, parts: number, isNew: boolean): number {
  let tried = 0;
  for (let part = 0; part < parts; part += 1) {
    if (!novelty.isLikely()) continue;
    tried += 1;
    novelty.note(isNew);
  }
  return tried;
}

test('a sender of new records is always believed, one that repeats more and more seldom', () => {
  expect(send(new Novelty(), 100, true)).toBe(100);
  const repeating = new Novelty();
  expect(send(repeating, 100, false)).toBeLessThan(10);
  expect(send(repeating, 1000, false)).toBeLessThan(20);
});

test('a sender that stops repeating is believed again', () => {
  const novelty = new Novelty();
  send(novelty, 1000, false);
  send(novelty, 100, true);
  expect(send(novelty, 100, true)).toBe(100);
});

test('senders are told apart by their tokens, and those long silent are forgotten', () => {
  const noveltyOf = createNovelties();
  noveltyOf('repeating').note(false);
  expect(noveltyOf('other').isLikely()).toBe(true);
  expect(noveltyOf('repeating').isLikely()).toBe(false);
  noveltyOf('repeating').note(false);
  for (let token = 0; token < 1000; token += 1) noveltyOf(`t${token}`);
  expect(noveltyOf('repeating').isLikely()).toBe(true);
});

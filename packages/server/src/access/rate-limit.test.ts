import { expect, test } from 'vitest';
import type { Actor } from '../kernel/actor.ts';
import { createRateLimit } from './limits.ts';

const actor = (tokenId: string): Actor => ({
  tokenId,
  name: tokenId,
  scopes: [],
  tenants: null,
  expiresAt: null,
});

test('lets a minute’s share pass at once, then refills evenly', () => {
  let now = 0;
  const admit = createRateLimit(60, () => now);
  for (let i = 0; i < 60; i++) admit(actor('a'));
  expect(() => admit(actor('a'))).toThrow(expect.objectContaining({ retryAfterSeconds: 1 }));
  now += 1000;
  admit(actor('a'));
  expect(() => admit(actor('a'))).toThrow('rate_limited');
});

test('one token’s use does not touch another’s share', () => {
  const admit = createRateLimit(1, () => 0);
  admit(actor('a'));
  admit(actor('b'));
  expect(() => admit(actor('a'))).toThrow('rate_limited');
});

test('0 means no limit', () => {
  const admit = createRateLimit(0, () => 0);
  for (let i = 0; i < 10_000; i++) admit(actor('a'));
});

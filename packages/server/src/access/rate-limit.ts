import { LRUCache } from 'lru-cache';
import type { Actor } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';

type Bucket = { left: number; filledAtMillis: number };

/**
 * A token bucket per access token and process: a minute's share may be used in a burst and refills
 * evenly. `perMinute` 0 = no limit. Throws 429 `rate_limited`.
 */
export function createRateLimit(perMinute: number, clock: Clock): (actor: Actor) => void {
  if (perMinute === 0) return () => {};
  const buckets = new LRUCache<string, Bucket>({ max: 10_000 });
  const perMilli = perMinute / 60_000;
  return ({ tokenId }) => {
    const now = clock();
    const bucket = buckets.get(tokenId) ?? { left: perMinute, filledAtMillis: now };
    bucket.left = Math.min(perMinute, bucket.left + (now - bucket.filledAtMillis) * perMilli);
    bucket.filledAtMillis = now;
    buckets.set(tokenId, bucket);
    if (bucket.left < 1) {
      throw new AppError('rate_limited', {
        detail: `This token may make ${perMinute} requests a minute.`,
        retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.left) / perMilli / 1000)),
      });
    }
    bucket.left -= 1;
  };
}

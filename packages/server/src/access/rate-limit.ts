import { LRUCache } from 'lru-cache';
import type { Actor } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';

type Bucket = { left: number; filledAtMillis: number };

/**
 * A bucket for each key: a minute's share may be used in a burst and refills evenly. In bounded memory: of
 * more keys than that the least used start anew.
 */
export function createBuckets(perMinute: number, clock: Clock) {
  const buckets = new LRUCache<string, Bucket>({ max: 10_000 });
  const perMilli = perMinute / 60_000;
  const refilled = (key: string): Bucket => {
    const now = clock();
    const bucket = buckets.get(key) ?? { left: perMinute, filledAtMillis: now };
    bucket.left = Math.min(perMinute, bucket.left + (now - bucket.filledAtMillis) * perMilli);
    bucket.filledAtMillis = now;
    buckets.set(key, bucket);
    return bucket;
  };
  return {
    /** Takes one; answers 0, or how many seconds to wait when there is none. */
    take(key: string): number {
      const bucket = refilled(key);
      if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / perMilli / 1000));
      bucket.left -= 1;
      return 0;
    },
    giveBack(key: string): void {
      refilled(key).left += 1;
    },
  };
}

/** The share of each access token, per process. `perMinute` 0 = no limit. Throws 429 `rate_limited`. */
export function createRateLimit(perMinute: number, clock: Clock): (actor: Actor) => void {
  if (perMinute === 0) return () => {};
  const buckets = createBuckets(perMinute, clock);
  return ({ tokenId }) => {
    const waitSeconds = buckets.take(tokenId);
    if (waitSeconds === 0) return;
    throw new AppError('rate_limited', {
      detail: `This token may make ${perMinute} requests a minute.`,
      retryAfterSeconds: waitSeconds,
    });
  };
}

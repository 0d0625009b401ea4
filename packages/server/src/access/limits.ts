import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Actor } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { clientAddress, networkOf } from '../platform/http/client-address.ts';
import type { Log } from '../platform/log.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { auditRefusal } from './audit.ts';

/** How many tries may fail within a minute, from one address or in one session. */
export const failuresPerMinute = 20;
/**
 * In a minute, failures are written down for at most this many addresses. The failures of all others are written as one
 * sum.
 */
const maxAddresses = 100;
const minuteMillis = 60_000;

export type SignInGuard = {
  /**
   * Does work that takes a secret to let the caller in. Throws what the work throws, or 429 `sign_in_limited` once too
   * many tries from this address have failed; then the right secret is refused too. With `session`, the id of a session
   * whose secret the caller has shown, only the failures of that session count: strangers at the same address, which
   * may be a proxy's, cannot shut its owner out.
   */
  attempt<T>(request: FastifyRequest, work: () => Promise<T>, session?: string): Promise<T>;
  /** Writes to the audit log what has been counted but not written yet. */
  flush(): Promise<void>;
};

type Failures = { readonly address: string; untold: number; code: string };

/**
 * Limits failed sign-ins and writes them to the audit log. The first failure of an address in a minute is written at
 * once, the others as a number when the minute is over, so that nobody can flood the log. The counts are kept for each
 * process, in bounded memory.
 */
export function createSignInGuard(
  db: Queryable,
  { clock, log }: { clock: Clock; log: Log },
): SignInGuard {
  const buckets = createBuckets(failuresPerMinute, clock);
  let failures = new Map<string, Failures>();
  let others = 0;
  let startedAtMillis = 0;
  let timer: NodeJS.Timeout | undefined;

  const tell = async (entry: Parameters<typeof auditRefusal>[1]) => {
    // The caller stays refused whether or not the refusal can be written down.
    await auditRefusal(db, entry).catch((error: unknown) =>
      log.warn(
        { err: error, address: entry.address, after: entry.after },
        'a failed sign-in could not be told in the audit log',
      ),
    );
  };
  const flush = async () => {
    clearTimeout(timer);
    timer = undefined;
    const [told, untold] = [failures, others];
    failures = new Map();
    others = 0;
    for (const { address, untold: attempts, code } of told.values()) {
      if (attempts > 0) await tell({ address, after: { code, attempts } });
    }
    if (untold > 0) await tell({ address: null, after: { attempts: untold } });
  };
  const note = async (request: FastifyRequest, address: string, code: string) => {
    if (timer !== undefined && clock() - startedAtMillis >= minuteMillis) await flush();
    if (timer === undefined) {
      startedAtMillis = clock();
      timer = setTimeout(() => void flush(), minuteMillis);
      timer.unref();
    }
    const known = failures.get(address);
    if (known !== undefined) Object.assign(known, { untold: known.untold + 1, code });
    else if (failures.size >= maxAddresses) others += 1;
    else {
      failures.set(address, { address, untold: 0, code });
      await tell({ address, request, after: { code, attempts: 1 } });
    }
  };
  return {
    flush,
    async attempt(request, work, session) {
      const address = networkOf(clientAddress(request));
      const key = session === undefined ? address : `session ${session}`;
      const waitSeconds = buckets.take(key);
      if (waitSeconds > 0) {
        await note(request, address, 'sign_in_limited');
        throw new AppError('sign_in_limited', {
          detail: `${failuresPerMinute} sign-ins from your address, or tries to confirm this session, failed within a minute. Try again in ${waitSeconds} s.`,
          retryAfterSeconds: waitSeconds,
        });
      }
      try {
        const answer = await work();
        buckets.giveBack(key);
        return answer;
      } catch (error) {
        if (error instanceof AppError && error.status === 401) {
          await note(request, address, error.code);
        } else buckets.giveBack(key);
        throw error;
      }
    },
  };
}

type Bucket = { left: number; filledAtMillis: number };

/**
 * Keeps one bucket for each key. The share of a minute may be used at once, and refills evenly. Memory is bounded: when
 * there are more keys than buckets, the bucket that was not used for the longest time is dropped and starts full again.
 */
function createBuckets(perMinute: number, clock: Clock) {
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
    /** Takes one from the bucket. Returns 0, or the number of seconds to wait when the bucket is empty. */
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

/**
 * Limits the requests of each access token, in this process. `perMinute` 0 means no limit. The result throws 429
 * `rate_limited`.
 */
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

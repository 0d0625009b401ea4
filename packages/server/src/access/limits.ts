import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Actor, isOfStores, tenantsIn } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret } from '../kernel/ids.ts';
import { clientAddress, networkOf } from '../platform/http/client-address.ts';
import type { Log } from '../platform/log.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { createSharedLimit, openLimitUse } from '../platform/postgres/shared-limit.ts';
import { auditRefusal } from './audit.ts';

/** How many tries may fail within a minute, from one address or in one session. */
export const failuresPerMinute = 20;
/** In a minute, failures of at most so many addresses are written down; those of all others as one sum. */
const maxAddresses = 100;
const minuteMillis = 60_000;
const signIns = { name: 'sign_ins', perMinute: failuresPerMinute };
/** The time after which one more try may fail. */
const waitSeconds = 60 / failuresPerMinute;

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
 * once, the others as a number when the minute is over, so that nobody can flood the log. All processes keep the limit
 * together, and exactly: each try is counted in the database before the secret is looked at.
 */
export function createSignInGuard(
  db: Queryable,
  { clock, log }: { clock: Clock; log: Log },
): SignInGuard {
  const use = openLimitUse(db, clock);
  /** When an address was refused. It is not counted again for a while, so that a flood costs the database nothing. */
  const refusedAtMillis = new LRUCache<string, number>({ max: 10_000 });
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
  const take = async (key: string) => {
    const since = clock() - (refusedAtMillis.get(key) ?? Number.NEGATIVE_INFINITY);
    if (since >= 0 && since < waitSeconds * 1000) return false;
    const isTaken = await use.take(signIns, key);
    if (!isTaken) refusedAtMillis.set(key, clock());
    return isTaken;
  };
  const giveBack = async (key: string) => {
    // The answer to the caller is there already, and does not change because one try too many stays counted.
    await use.giveBack(signIns, key).catch((error: unknown) => {
      log.warn({ err: error }, 'a sign-in that did not fail stays counted for a while');
    });
  };
  return {
    flush,
    async attempt(request, work, session) {
      const address = networkOf(clientAddress(request));
      const key = session === undefined ? address : `session ${session}`;
      if (!(await take(key))) {
        await note(request, address, 'sign_in_limited');
        throw new AppError('sign_in_limited', {
          detail: `${failuresPerMinute} sign-ins from your address, or tries to confirm this session, failed within a minute. Try again in ${waitSeconds} s.`,
          retryAfterSeconds: waitSeconds,
        });
      }
      try {
        const answer = await work();
        await giveBack(key);
        return answer;
      } catch (error) {
        const isRefused = error instanceof AppError && error.code === 'address_refused';
        if (error instanceof AppError && (error.status === 401 || isRefused)) {
          await note(request, address, error.code);
        } else await giveBack(key);
        throw error;
      }
    },
  };
}

/** How many requests a minute a token may make, and all tokens together that are limited to the same tenants; 0: any. */
type RequestRates = { readonly perToken: number; readonly perTenants: number };

/** Where the headers of an answer are set. */
type Headers = { setHeader(name: string, value: string): unknown };

export type RateLimit = {
  /** Counts a request and says what is left in its answer's headers. Throws 429 `rate_limited`. */
  readonly admit: (actor: Actor, answer: Headers) => Promise<void>;
  flush(): Promise<void>;
};

/**
 * Limits the requests of each token, over all processes. The headers `RateLimit-Policy` and `RateLimit` are those of
 * draft-ietf-httpapi-ratelimit-headers-10: `q` requests in `w` seconds, `r` of which are left, and all again in `t`
 * seconds, as far as this process knows.
 */
export function createRateLimit(
  db: Queryable,
  { perToken, perTenants }: RequestRates,
  { clock, log }: { clock: Clock; log: Log },
): RateLimit {
  const onError = (error: unknown) =>
    log.warn(
      { err: error },
      'what tokens have used could not be shared; this process limits alone',
    );
  const limitOf = (name: string, perMinute: number) =>
    createSharedLimit(db, { name, perMinute }, { clock, onError });
  const quotas = [
    {
      policy: 'token',
      perMinute: perToken,
      limit: limitOf('requests', perToken),
      who: 'This token',
      subjectOf: ({ tokenId }: Actor) => tokenId,
    },
    {
      policy: 'tenants',
      perMinute: perTenants,
      limit: limitOf('tenant_requests', perTenants),
      who: 'All tokens that are limited to your tenants',
      subjectOf: ({ tenants }: Actor) => (tenants === null ? null : nameOf(tenantsIn(tenants))),
    },
  ].filter(({ perMinute }) => perMinute > 0);

  return {
    async admit(actor, answer) {
      const policies: string[] = [];
      const left: string[] = [];
      let refusal: AppError | undefined;
      for (const { policy, perMinute, limit, who, subjectOf } of quotas) {
        const subject = subjectOf(actor);
        if (subject === null) continue;
        // What the first quota has nothing left for does not use up the second.
        const waitSeconds = refusal === undefined ? await limit.take(subject) : 0;
        if (waitSeconds > 0) {
          refusal = new AppError('rate_limited', {
            detail: `${who} may make ${perMinute} requests a minute.`,
            retryAfterSeconds: waitSeconds,
          });
        }
        // What is left of it would tell whoever is limited to stores how much the others of the tenant do.
        if (policy === 'tenants' && isOfStores(actor.tenants)) continue;
        const { remaining, fullInSeconds } = limit.left(subject);
        policies.push(`"${policy}";q=${perMinute};w=60`);
        left.push(`"${policy}";r=${remaining};t=${fullInSeconds}`);
      }
      if (policies.length > 0) {
        answer.setHeader('ratelimit-policy', policies.join(', '));
        answer.setHeader('ratelimit', left.join(', '));
      }
      if (refusal !== undefined) throw refusal;
    },
    async flush() {
      await Promise.all(quotas.map(({ limit }) => limit.flush()));
    },
  };
}

/** A short name for a set of tenants, of which there may be a thousand. */
function nameOf(tenants: readonly string[]): string {
  const [only] = tenants;
  if (tenants.length === 1 && only !== undefined) return only;
  return hashSecret([...tenants].sort().join('/')).toString('base64url');
}

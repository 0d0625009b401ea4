import { setTimeout } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Actor, requireScope } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret } from '../kernel/ids.ts';
import { clientAddress, isLoopback } from '../platform/http/client-address.ts';

/** So long a token is waited for. Prometheus gives a whole scrape ten seconds. */
const lookUpMillis = 2000;
const knownMillis = 3_600_000;

/**
 * Decides who may read the metrics: who calls from this machine, and anybody with a token that may read records of all
 * tenants. While the database cannot be asked, a token counts that it knew within the last hour, since the metrics are
 * to tell just then that it is away.
 */
export function createMetricsAccess(options: {
  authenticate: (request: FastifyRequest) => Promise<Actor>;
  isTrusted: (address: string) => boolean;
}): (request: FastifyRequest) => Promise<void> {
  const { authenticate, isTrusted } = options;
  const known = new LRUCache<string, true>({ max: 100, ttl: knownMillis });
  return async (request) => {
    if (isFromHere(request, isTrusted)) return;
    const key = hashSecret(request.headers.authorization ?? '').toString('base64url');
    try {
      requireAll(await Promise.race([authenticate(request), tooLate()]));
      known.set(key, true);
    } catch (error) {
      const isAway = error instanceof AppError && error.status === 503;
      if (isAway && known.has(key)) return;
      if (!isAway) known.delete(key);
      throw error;
    }
  };
}

/**
 * A proxy on this machine that is not named in SVC_TRUSTED_PROXIES passes on callers from anywhere, and tells so in a
 * header.
 */
function isFromHere(request: FastifyRequest, isTrusted: (address: string) => boolean): boolean {
  const { headers, socket } = request;
  const isPassedOn = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
  if (isPassedOn && !isTrusted(socket.remoteAddress ?? '')) return false;
  return isLoopback(clientAddress(request));
}

function requireAll(actor: Actor): void {
  requireScope(actor, 'enrichment:read');
  if (actor.tenants === null) return;
  throw new AppError('scope_missing', {
    detail: 'The metrics are of all tenants, and this token is limited to some.',
  });
}

async function tooLate(): Promise<never> {
  await setTimeout(lookUpMillis, undefined, { ref: false });
  throw new AppError('database_unavailable', { retryAfterSeconds: 1 });
}

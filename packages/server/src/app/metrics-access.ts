import { setTimeout } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Actor, requireScope } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret } from '../kernel/ids.ts';

const knownMillis = 3_600_000;

/**
 * Decides who may read the metrics: whoever has a token that may read records of all tenants. Where a caller seems to
 * come from tells nothing: a proxy on this machine passes on callers from anywhere. While the database cannot be asked,
 * a token counts that it knew within the last hour, since the metrics are to tell just then that it is away. It waits
 * `lookUpMillis` for the database to say.
 */
export function createMetricsAccess(
  authenticate: (request: FastifyRequest) => Promise<Actor>,
  lookUpMillis: number,
): (request: FastifyRequest) => Promise<void> {
  const known = new LRUCache<string, true>({ max: 100, ttl: knownMillis });
  return async (request) => {
    const key = hashSecret(request.headers.authorization ?? '').toString('base64url');
    try {
      requireAll(await Promise.race([authenticate(request), tooLate(lookUpMillis)]));
      known.set(key, true);
    } catch (error) {
      const isAway = error instanceof AppError && error.status === 503;
      if (isAway && known.has(key)) return;
      if (!isAway) known.delete(key);
      throw error;
    }
  };
}

function requireAll(actor: Actor): void {
  requireScope(actor, 'enrichment:read');
  if (actor.tenants === null) return;
  throw new AppError('scope_missing', {
    detail: 'The metrics are of all tenants, and this token is limited to some.',
  });
}

async function tooLate(millis: number): Promise<never> {
  await setTimeout(millis, undefined, { ref: false });
  throw new AppError('database_unavailable', { retryAfterSeconds: 1 });
}

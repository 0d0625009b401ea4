import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Actor } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Audit } from '../platform/audit.ts';
import type { Log } from '../platform/log.ts';
import type { Queryable } from '../platform/postgres/database.ts';

/** So long no other refusal of the same token is written down by this process. */
const quietMillis = 600_000;

/** Audits the use of a token, perhaps found by somebody, from a wrong address: once in ten minutes, against floods. */
export function tellAddressRefusals(
  authenticate: (request: FastifyRequest) => Promise<Actor>,
  { db, audit, clock, log }: { db: Queryable; audit: Audit; clock: Clock; log: Log },
): (request: FastifyRequest) => Promise<Actor> {
  const toldAtMillis = new LRUCache<string, number>({ max: 10_000 });
  return async (request) => {
    try {
      return await authenticate(request);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'address_refused') throw error;
      const actor = error.cause as Actor;
      const { tokenId: target, tenants } = actor;
      if (clock() - (toldAtMillis.get(target) ?? 0) >= quietMillis) {
        toldAtMillis.set(target, clock());
        const entry = { actor, request, action: 'token.refuse', target, tenants };
        // The caller stays refused whether or not the refusal can be written down.
        await audit(db, { ...entry, after: { code: error.code } }).catch((err: unknown) =>
          log.warn({ err, target }, 'a refused token could not be told in the audit log'),
        );
      }
      throw error;
    }
  };
}

import type { FastifyRequest } from 'fastify';
import type { Actor } from '../kernel/actor.ts';
import type { Queryable } from './postgres/database.ts';

/** One act of an operator, for the audit log. */
export type AuditEntry = {
  readonly actor: Actor;
  /** Gives the request's id and where it came from. */
  readonly request: FastifyRequest;
  /** `<noun>.<verb>`, such as endpoint.create. */
  readonly action: string;
  /** Id of what it was done to; null when it has none. */
  readonly target: string | null;
  /** Whom it concerns. None given: all that the actor reaches. */
  readonly tenant?: string | null;
  readonly tenants?: readonly string[] | null;
  /** JSON of what it was and has become; no secrets. Undefined = there is nothing to tell. */
  readonly before?: unknown;
  readonly after?: unknown;
};

/** Writes an entry, inside the transaction that does what it tells. */
export type Audit = (db: Queryable, entry: AuditEntry) => Promise<void>;

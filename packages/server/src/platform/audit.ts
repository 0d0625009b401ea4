import type { FastifyRequest } from 'fastify';
import type { Actor, TokenlessActor } from '../kernel/actor.ts';
import type { Queryable } from './postgres/database.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Marks a request that somebody else confirmed as such, within the act's transaction. Throws 409 `approval_ended`.
     */
    settle?: (db: Queryable) => Promise<void>;
  }
}

/** One act of an operator, as the audit log keeps it. */
export type AuditEntry = {
  readonly actor: Actor;
  /** The request that did it: its id and its address are kept. */
  readonly request: FastifyRequest;
  /** `<noun>.<verb>`, such as `endpoint.create`. */
  readonly action: string;
  /** The id of what it was done to; null when that has no id. */
  readonly target: string | null;
  /** The tenants whom the act concerns. When neither field is given, these are all tenants that the actor reaches. */
  readonly tenant?: string | null;
  readonly tenants?: readonly string[] | null;
  /** What it was and what it has become, as values for JSON without secrets; undefined: nothing to tell. */
  readonly before?: unknown;
  readonly after?: unknown;
};

/** Who acts, and by which request. */
export type Caller = Pick<AuditEntry, 'actor' | 'request'>;

/** The same, with what puts it on record. */
export type Act = Caller & { readonly audit: Audit };

/** Puts an act on record: see `Audit`. */
export function noteAct(
  db: Queryable,
  { actor, request, audit }: Act,
  entry: Omit<AuditEntry, keyof Caller>,
): Promise<void> {
  return audit(db, { actor, request, ...entry });
}

/**
 * Reads records, and puts on record that a person did, where that is asked for: which slice, and nothing of what it holds.
 * `read` is not answered before the entry is written; a slice that is read page by page is noted once.
 */
export type NoteRead = <T>(
  call: Caller,
  what: { readonly by: string; readonly tenant?: string | undefined } & Record<string, unknown>,
  read: () => Promise<T>,
) => Promise<T>;

/** Writes what was done without a request, under the name of whoever did it, or asked for it once and for all. */
export type AuditLocally = (
  db: Queryable,
  by: TokenlessActor | Pick<Actor, 'tokenId' | 'name'>,
  act: { action: string; target: string | null; tenant?: string; before?: unknown; after: unknown },
) => Promise<void>;

/** Writes an entry. It must run inside the transaction that does the act, so that neither exists without the other. */
export type Audit = (db: Queryable, entry: AuditEntry) => Promise<void>;

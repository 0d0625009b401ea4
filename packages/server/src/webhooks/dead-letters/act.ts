import type { Actor } from '../../kernel/actor.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import type { Queryable } from '../../platform/postgres/database.ts';

/** Who acts, and how the act is put on record. */
export type Act = {
  readonly actor: Actor;
  /** Writes an audit entry inside the transaction that does what it tells. */
  note(db: Queryable, entry: Omit<AuditEntry, 'actor' | 'request'>): Promise<void>;
};

import type { Queryable } from '../../platform/postgres/database.ts';
import * as queries from './queries.ts';

/** What the policy in force for a tenant lets be done now. Days are `YYYY-MM-DD`. */
export type DueDays = {
  /** Legal hold: nothing may be done, whatever the days say. */
  readonly hold: boolean;
  /** Hot records on days before this one may become cold. */
  readonly moveUntil: string;
  /** All records on days before this one go for good; null = none do. */
  readonly deleteUntil: string | null;
  /** The last day before each of them. */
  readonly lastMoveDay: string;
  readonly lastDeleteDay: string | null;
};

/**
 * Asked right before something is done to a tenant, and again inside of what is done: a policy may change
 * at any time, and a hold must stop what has not happened yet. `before` = only days before this one.
 */
export async function findDueDays(
  db: Queryable,
  tenant: string,
  before?: string | null,
): Promise<DueDays> {
  const due = await queries.findDueDays(db, tenant, before);
  if (due === undefined) {
    throw new Error('retention_policies has no default (*): put it back with PUT');
  }
  return {
    hold: due.hold,
    moveUntil: due.move_until,
    deleteUntil: due.delete_until,
    lastMoveDay: due.last_move_day,
    lastDeleteDay: due.last_delete_day,
  };
}

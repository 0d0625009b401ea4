import type { Actor } from '../../kernel/actor.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { HotSpace, PlanRow, PlanSum } from '../contract.ts';
import { measureHotSpace } from '../give-back.ts';
import * as queries from './queries.ts';

export type PlanRequest = { tenant?: string; before?: string; limit?: number; cursor?: string };
type PlanTotals = { move: PlanSum; delete: PlanSum; held: PlanSum; versioned: PlanSum };
type PlanAnswer = {
  data: PlanRow[];
  totals: PlanTotals;
  hot_space: HotSpace | null;
  next_cursor: string | null;
};

/**
 * One page of what a run would do now, by tenant and kind, with the totals of all pages. `hot_space` is null for
 * callers that are limited to tenants, and on later pages. Throws 400 `cursor_invalid`.
 */
export async function getPlan(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: PlanRequest,
): Promise<PlanAnswer> {
  const { tenant, before, limit, cursor } = request;
  const scope = { list: 'retention.plan', filters: { tenant, before } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset<queries.PlanKey>(page);
  const wanted = { tenant, before, tenants: actor.tenants };
  const rows = await queries.listPlan(db, wanted, keyset);
  const due = rows.flatMap(toPlanRow);
  const { data, next_cursor } = toPage(page, due, (row) => [row.tenant, row.kind]);
  return {
    data,
    totals: toTotals(rows[0]),
    // The files hold the records of all tenants, so a caller that is limited to some must not see their size.
    hot_space: actor.tenants === null && cursor === undefined ? await measureHotSpace(db) : null,
    next_cursor,
  };
}

/** Counts the records that a run over this scope would move or delete now, and those that dataset versions keep. */
export async function countDue(
  db: Queryable,
  scope: queries.PlanScope,
): Promise<{ total: number; kept: number }> {
  const totals = toTotals((await queries.listPlan(db, scope, { after: null, limit: 0 }))[0]);
  return { total: totals.move.count + totals.delete.count, kept: totals.versioned.count };
}

function toPlanRow(row: queries.PlannedRow): PlanRow[] {
  const { tenant, kind, first_day, last_day, count, bytes, held } = row;
  const { versioned_count, versioned_bytes, versions } = row;
  const kept = { versioned_count, versioned_bytes, versions };
  // An empty page is one row that has only the totals.
  return tenant === null
    ? []
    : [{ tenant, kind, first_day, last_day, count, bytes, held, ...kept }];
}

function toTotals(row: queries.PlannedRow | undefined): PlanTotals {
  if (row === undefined) throw new Error('the totals of a plan are missing');
  return {
    move: { tenants: row.move_tenants, count: row.move_count, bytes: row.move_bytes },
    delete: { tenants: row.delete_tenants, count: row.delete_count, bytes: row.delete_bytes },
    held: { tenants: row.held_tenants, count: row.held_count, bytes: row.held_bytes },
    versioned: {
      tenants: row.versioned_tenants,
      count: row.versioned_count_total,
      bytes: row.versioned_bytes_total,
    },
  };
}

/** What the policy in force for a tenant allows now. Days are `YYYY-MM-DD`. */
export type DueDays = {
  /** Legal hold: nothing may be done to the tenant, whatever the days say. */
  readonly hold: boolean;
  /** Hot records on days before this one may become cold. */
  readonly moveUntil: string;
  /** All records on days before this one are deleted; null means that none are. */
  readonly deleteUntil: string | null;
  /** The last days that may be moved and deleted: the days before the two above. */
  readonly lastMoveDay: string;
  readonly lastDeleteDay: string | null;
};

/**
 * Reads what a tenant's policy allows now. `before` limits it to days before that one. Must be called right before
 * something is done to a tenant and again inside its transaction, because a policy may change at any time and a hold
 * must stop what has not happened yet.
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

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

/** Tenants looked at by one statement (5 ms). For many more PostgreSQL might read all of `tenant_days`. */
const tenantsAtOnce = 250;

/** The versions that a row names, at most. */
const namedVersions = 20;

/** Where a page begins: after this tenant and kind. The totals, as JSON, are those that the first page told. */
type PlanKey = readonly [tenant: string, kind: PlanRow['kind'], totals: string];

/**
 * One page of what a run would do now, by tenant and kind, with the totals of all pages. Only the first page sums them
 * up; its cursor takes them along, so that later pages cost what they show, and all tell the same. `hot_space` is null
 * for callers that are limited to tenants, and on later pages. Throws 400 `cursor_invalid`.
 */
export async function getPlan(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: PlanRequest,
): Promise<PlanAnswer> {
  const { tenant, before, limit, cursor } = request;
  // The totals are of the tenants in reach, so a cursor goes only with the reach that it was made for.
  const reach = actor.tenants === null ? undefined : JSON.stringify(actor.tenants);
  const scope = { list: 'retention.plan', filters: { tenant, before, reach } };
  const page = { cursorKey, scope, limit, cursor };
  const { after, limit: rowLimit } = toKeyset<PlanKey>(page);
  const wanted = { tenant, before, tenants: actor.tenants };
  const totals = after === null ? noTotals() : (JSON.parse(after[2]) as PlanTotals);
  const rows: PlanRow[] = [];
  const untils = new Map<string, string | null>();
  const from = after === null ? undefined : { tenant: after[0], isAfter: after[1] === 'move' };
  for await (const due of walkDue(db, wanted, from)) {
    if (after === null) addToTotals(totals, due);
    for (const row of toPlanRows(due)) {
      const isShown = after === null || row.tenant !== after[0] || row.kind === 'move';
      if (!isShown || rows.length === rowLimit) continue;
      rows.push(row);
      untils.set(row.tenant, due.delete_until);
    }
    if (after !== null && rows.length === rowLimit) break;
  }
  const said = JSON.stringify(totals);
  const { data, next_cursor } = toPage(page, rows, (row) => [row.tenant, row.kind, said]);
  return {
    data: await addKeepers(db, data, untils),
    totals,
    // The files hold the records of all tenants, so a caller that is limited to some must not see their size.
    hot_space: actor.tenants === null && cursor === undefined ? await measureHotSpace(db) : null,
    next_cursor,
  };
}

/** Walks through what is due, tenant by tenant. */
async function* walkDue(
  db: Queryable,
  scope: queries.PlanScope,
  from = { tenant: '', isAfter: true },
): AsyncGenerator<queries.DueTenant> {
  for (let next = from; ; ) {
    const page = { from: next.tenant, isAfter: next.isAfter, limit: tenantsAtOnce };
    const due = await queries.listDue(db, scope, page);
    yield* due;
    const last = due.at(-1);
    if (last === undefined) return;
    next = { tenant: last.tenant, isAfter: true };
  }
}

/** The rows of a tenant, without the versions that keep days of them. */
function toPlanRows(due: queries.DueTenant): PlanRow[] {
  const rows: PlanRow[] = [];
  for (const kind of ['delete', 'move'] as const) {
    const [first_day, last_day] = [due[`${kind}_first`], due[`${kind}_last`]];
    if (first_day === null || last_day === null) continue;
    rows.push({
      tenant: due.tenant,
      kind,
      first_day,
      last_day,
      count: due[`${kind}_count`] ?? 0,
      bytes: due[`${kind}_bytes`] ?? 0,
      held: due.hold,
      // A version keeps its days from deletion, not from a move.
      versioned_count: (kind === 'delete' && due.versioned_count) || 0,
      versioned_bytes: (kind === 'delete' && due.versioned_bytes) || 0,
      versions: [],
    });
  }
  return rows;
}

function noTotals(): PlanTotals {
  const none = () => ({ tenants: 0, count: 0, bytes: 0 });
  return { move: none(), delete: none(), held: none(), versioned: none() };
}

function addToTotals(totals: PlanTotals, due: queries.DueTenant): void {
  const add = (sum: PlanSum, ...amounts: { count: number | null; bytes: number | null }[]) => {
    if (amounts.every(({ count }) => (count ?? 0) === 0)) return;
    sum.tenants += 1;
    for (const { count, bytes } of amounts) {
      sum.count += count ?? 0;
      sum.bytes += bytes ?? 0;
    }
  };
  const moved = { count: due.move_count, bytes: due.move_bytes };
  const deleted = { count: due.delete_count, bytes: due.delete_bytes };
  if (due.hold) {
    add(totals.held, moved, deleted);
    return;
  }
  add(totals.move, moved);
  add(totals.delete, deleted);
  add(totals.versioned, { count: due.versioned_count, bytes: due.versioned_bytes });
}

/** Adds the names of the versions that keep days of the rows. */
async function addKeepers(
  db: Queryable,
  rows: readonly PlanRow[],
  untils: ReadonlyMap<string, string | null>,
): Promise<PlanRow[]> {
  const kept = rows.filter((row) => row.versioned_count > 0);
  if (kept.length === 0) return [...rows];
  const wanted = kept.map(({ tenant }) => ({ tenant, until: untils.get(tenant) ?? null }));
  const keepers = await queries.listKeepers(db, wanted);
  const namesOf = (row: PlanRow) =>
    keepers.filter(({ tenant }) => tenant === row.tenant).slice(0, namedVersions);
  return rows.map((row) =>
    row.versioned_count === 0 ? row : { ...row, versions: namesOf(row).map(({ name }) => name) },
  );
}

/** A tenant that a run has to work on, and which kinds of work it has. */
export type DueTenant = { tenant: string; has_moves: boolean; has_deletes: boolean };

/**
 * Everything that a run over this scope has to do: the tenants with days that are due or with a move that a killed
 * process left unfinished, how many records that would move or delete, and how many dataset versions keep. Tenants on
 * hold are left out.
 */
export async function findWork(
  db: Queryable,
  scope: queries.PlanScope,
): Promise<{ tenants: DueTenant[]; total: number; kept: number }> {
  const totals = noTotals();
  const tenants: DueTenant[] = [];
  for await (const due of walkDue(db, scope)) {
    addToTotals(totals, due);
    const has_moves = due.move_first !== null || due.has_open_moves;
    const has_deletes = (due.delete_count ?? 0) > 0 || due.has_open_deletes;
    if (!due.hold && (has_moves || has_deletes)) {
      tenants.push({ tenant: due.tenant, has_moves, has_deletes });
    }
  }
  return { tenants, total: totals.move.count + totals.delete.count, kept: totals.versioned.count };
}

import { type Actor, assertReach, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { parseInstant } from '../../kernel/instant.ts';
import { isReservedName } from '../../kernel/names.ts';
import { type Page, toKeyset, toPage } from '../../kernel/page.ts';
import { numberOf } from '../../kernel/values.ts';
import { type Act, type AuditEntry, noteAct } from '../../platform/audit.ts';
import { newNameLimits } from '../../platform/http/schemas.contract.ts';
import type { Foreseen } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { refuseHiddenNames } from '../../platform/postgres/known-names.ts';
import type { PolicyRow, TenantStateRow } from '../contract.ts';
import type { TenantOrder } from '../values.ts';
import * as queries from './queries.ts';

type PolicyChange = {
  hot_days: number;
  delete_days?: number | null;
  hold?: boolean;
  if_updated_at?: string | null;
};

/** One page of the policies: the default first, then those of tenants. Throws 400 `cursor_invalid`. */
export async function listPolicies(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: { limit?: number; cursor?: string },
): Promise<Page<PolicyRow>> {
  const { limit, cursor } = request;
  const page = { cursorKey, scope: { list: 'retention.policies', filters: {} }, limit, cursor };
  const rows = await queries.listPolicies(db, actor.tenants, toKeyset(page));
  const { data, next_cursor } = toPage(page, rows, (row) => [row.tenant]);
  return { data: data.map((row) => toPolicyRow(row, row.tenant, actor)), next_cursor };
}

/** The policy in force for a tenant, which need not exist. Throws 404 `policy_not_found` for one out of reach. */
export async function getPolicy(db: Queryable, actor: Actor, tenant: string): Promise<PolicyRow> {
  if (!tenantName.test(tenant) || !maySee(actor, tenant)) throw policyNotFound(tenant);
  const policy = await queries.findPolicyInForce(db, tenant);
  if (policy === undefined) throw policyNotFound(tenant);
  return toPolicyRow(policy, tenant, actor);
}

/**
 * Sets the policy of a tenant, or the default. Throws 400 `request_invalid` for a tenant that the caller does not
 * reach, for a name that no tenant can have, and for the default if the caller is limited to tenants; 409
 * `policy_changed`.
 */
export async function putPolicy(
  db: Database,
  act: Act,
  tenant: string,
  change: PolicyChange,
): Promise<PolicyRow> {
  if (tenant === queries.defaultTenant) assertUnlimited(act.actor);
  else if (!tenantName.test(tenant) || isReservedName(tenant)) {
    throw invalidInput('/tenant', `must be ${newNameLimits}`);
  } else assertReach(act.actor, tenant);
  const { hot_days, delete_days = null, hold = false, if_updated_at } = change;
  return db.transaction(async (connection) => {
    await queries.lockPolicies(connection);
    const before = await queries.findOwnPolicy(connection, tenant);
    if (before === undefined) await refuseHiddenNames(connection, '/tenant', [{ tenant }]);
    // A call that is made again after its first answer was lost is no conflict, and changes nothing.
    const isDone =
      before !== undefined &&
      before.hot_days === hot_days &&
      before.delete_days === delete_days &&
      before.hold === hold;
    if (isDone && if_updated_at !== undefined) return toPolicyRow(before, tenant, act.actor);
    await assertUnchanged(connection, tenant, if_updated_at);
    const terms = { hot_days, delete_days, hold };
    const after = await queries.upsertPolicy(connection, tenant, terms, act.actor.name);
    await note(connection, act, { action: 'retention.policy.set', tenant, before, after });
    return toPolicyRow(after, tenant, act.actor);
  });
}

/**
 * Puts a tenant back under the default. Throws 400 `request_invalid` for the default, 404 `policy_not_found`, 409
 * `policy_changed`.
 */
export async function deletePolicy(
  db: Database,
  act: Act,
  tenant: string,
  ifUpdatedAt: string | undefined,
): Promise<void> {
  if (tenant === queries.defaultTenant) {
    throw invalidInput('/tenant', 'the default cannot be deleted; set it with PUT instead');
  }
  if (!tenantName.test(tenant) || !maySee(act.actor, tenant)) throw policyNotFound(tenant);
  await db.transaction(async (connection) => {
    await queries.lockPolicies(connection);
    const before = await queries.findOwnPolicy(connection, tenant);
    if (before === undefined) throw policyNotFound(tenant);
    await assertUnchanged(connection, tenant, ifUpdatedAt);
    await queries.deletePolicy(connection, tenant);
    await note(connection, act, { action: 'retention.policy.delete', tenant, before });
  });
}

/** What a new policy would let go: `delete_days` that begin or become fewer, and a hold. Null: back to the default. */
export async function foreseePolicy(
  db: Queryable,
  tenant: string,
  change: PolicyChange | null,
  since: string | null | undefined,
): Promise<Foreseen> {
  const isTenant = tenantName.test(tenant);
  const find = (name: string) => queries.findPolicyInForce(db, name);
  const before = isTenant ? await find(tenant) : undefined;
  const after = change ?? (isTenant ? await find(queries.defaultTenant) : undefined);
  const days = after?.delete_days ?? null;
  const kept = before?.delete_days ?? null;
  const isDeleting = days !== null && (kept === null || days < kept);
  const isLifting = before?.hold === true && after?.hold !== true;
  const whose =
    tenant === queries.defaultTenant ? 'all tenants without a policy of their own' : tenant;
  const says = [
    ...(isDeleting
      ? [`Deletes records of ${whose} after ${numberOf(days, 'day')} (now: ${kept ?? 'never'}).`]
      : []),
    ...(isLifting ? [`Lifts the legal hold of ${whose}.`] : []),
  ];
  // What goes out from a policy of another time is refused for good, and nobody need confirm it.
  const isStale = typeof since === 'string' && !isCurrent(before, tenant, since);
  return {
    acts: [
      ...(isDeleting && !isStale ? (['delete_days'] as const) : []),
      ...(isLifting && !isStale ? (['lift_hold'] as const) : []),
    ],
    tenant: tenant === queries.defaultTenant ? null : tenant,
    says: says.join(' '),
    about: { days, kept, hold: before?.hold ?? false, since: before?.updated_at },
  };
}

/** Throws `policy_changed` when a change does not go out from the policy in force. */
async function assertUnchanged(
  db: Queryable,
  tenant: string,
  since: string | null | undefined,
): Promise<void> {
  if (isCurrent(await queries.findPolicyInForce(db, tenant), tenant, since)) return;
  throw new AppError('policy_changed', {
    detail: `The policy in force for ${JSON.stringify(tenant)} is another one by now, and stays as it is. Read it again.`,
  });
}

/** Whether a change goes out from the policy in force: from that of a moment, or, null, from none of the tenant's own. */
function isCurrent(
  now: queries.StoredPolicy | undefined,
  tenant: string,
  since: string | null | undefined,
): boolean {
  if (since === undefined) return true;
  if (since === null) return now?.tenant !== tenant;
  return now !== undefined && parseInstant(now.updated_at) === parseInstant(since);
}

function note(
  db: Queryable,
  act: Act,
  { tenant, ...entry }: Pick<AuditEntry, 'action' | 'before' | 'after'> & { tenant: string },
): Promise<void> {
  const concerned = tenant === queries.defaultTenant ? null : tenant;
  return noteAct(db, act, { ...entry, target: tenant, tenant: concerned });
}

/** Refuses callers limited to tenants: the default's name `*` is no tenant, though a token may be limited to it. */
function assertUnlimited(actor: Actor): void {
  if (actor.tenants === null) return;
  throw invalidInput('/tenant', 'the default is set by tokens that are not limited to tenants');
}

function maySee(actor: Actor, tenant: string): boolean {
  return tenant === queries.defaultTenant || mayTouchTenant(actor, tenant);
}

/** The same rule as in the contract, since parameters of a path are not checked by it. */
const tenantName = /^[^\p{Cc}\p{Cs}/]{1,128}$/u;

/** A policy as callers see it. Those who are limited to tenants are not told who set the default. */
function toPolicyRow(policy: queries.StoredPolicy, tenant: string, reader: Actor): PolicyRow {
  const { hot_days, delete_days, hold, updated_at } = policy;
  const isForeign = policy.tenant === queries.defaultTenant && reader.tenants !== null;
  const updated_by = isForeign ? null : policy.updated_by;
  const from_default = policy.tenant !== tenant;
  return { tenant, hot_days, delete_days, hold, from_default, updated_at, updated_by };
}

function policyNotFound(tenant: string): AppError {
  return new AppError('policy_not_found', {
    detail: `${JSON.stringify(tenant)} has no retention policy of its own here. GET /retention/policies lists them.`,
  });
}

/** One page of how much of each tenant is hot and cold, by tenant or by what is due. Throws 400 `cursor_invalid`. */
export async function listTenantStates(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: { q?: string; order?: TenantOrder; limit?: number; cursor?: string },
): Promise<Page<TenantStateRow>> {
  const { q, order, limit, cursor } = request;
  const scope = { list: 'retention.tenants', filters: { q, order } };
  const page = { cursorKey, scope, limit, cursor };
  const filter = { q, order, reach: actor.tenants };
  const rows = await queries.listTenantStates(db, filter, toKeyset(page));
  return toPage(page, rows, ({ tenant, due }) =>
    order === 'due' ? [String(due?.bytes ?? 0), tenant] : [tenant],
  );
}

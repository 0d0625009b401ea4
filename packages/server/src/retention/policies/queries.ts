import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/instant-sql.ts';
import type { MoveKind, MoveState } from '../contract.ts';

/** The tenant whose policy is that of all others without one of their own. */
export const defaultTenant = '*';

/** A policy as it is stored: of a tenant, or the default. */
export type StoredPolicy = {
  tenant: string;
  hot_days: number;
  delete_days: number | null;
  hold: boolean;
  updated_at: string;
  updated_by: string | null;
};

/** What an operator decides of a policy. */
export type PolicyTerms = Pick<StoredPolicy, 'hot_days' | 'delete_days' | 'hold'>;

/** Tenants that the caller reaches; null = all. */
type Reach = readonly string[] | null;

const columns = sql`retention_policies.tenant, hot_days, delete_days, hold,
  ${instantText('retention_policies.updated_at')} as updated_at, updated_by`;

/** The default first, then by tenant. `after` = the tenant of the last row seen. */
export async function listPolicies(
  db: Queryable,
  reach: Reach,
  page: { after: string | null; limit: number },
): Promise<StoredPolicy[]> {
  const { after, limit } = page;
  return db.query<StoredPolicy>(sql`
    select ${columns} from retention_policies
    where (${reach}::text[] is null or tenant = ${defaultTenant} or tenant = any(${reach}::text[]))
      and (${after}::text is null or tenant <> ${defaultTenant}
        and (${after} = ${defaultTenant} or tenant > ${after}))
    order by tenant <> ${defaultTenant}, tenant limit ${limit}`);
}

/** The policy in force for a tenant: its own, or else the default. */
export async function findPolicyInForce(
  db: Queryable,
  tenant: string,
): Promise<StoredPolicy | undefined> {
  const rows = await db.query<StoredPolicy>(sql`
    select ${columns} from retention_policies where tenant in (${tenant}, ${defaultTenant})
    order by tenant = ${tenant} desc limit 1`);
  return rows[0];
}

/**
 * Lets one transaction at a time change policies: by the default's row, as a tenant without a policy has none
 * to lock. What is read after it is what the last one left.
 */
export async function lockPolicies(db: Queryable): Promise<void> {
  await db.query(sql`
    select tenant from retention_policies where tenant = ${defaultTenant} for update`);
}

export async function findOwnPolicy(
  db: Queryable,
  tenant: string,
): Promise<StoredPolicy | undefined> {
  const rows = await db.query<StoredPolicy>(
    sql`select ${columns} from retention_policies where tenant = ${tenant}`,
  );
  return rows[0];
}

export async function upsertPolicy(
  db: Queryable,
  tenant: string,
  terms: PolicyTerms,
  updatedBy: string,
): Promise<StoredPolicy | undefined> {
  const rows = await db.query<StoredPolicy>(sql`
    insert into retention_policies (tenant, hot_days, delete_days, hold, updated_by)
    values (${tenant}, ${terms.hot_days}, ${terms.delete_days}, ${terms.hold}, ${updatedBy})
    on conflict (tenant) do update set hot_days = excluded.hot_days, delete_days = excluded.delete_days,
      hold = excluded.hold, updated_at = now(), updated_by = excluded.updated_by
    returning ${columns}`);
  return rows[0];
}

export async function deletePolicy(db: Queryable, tenant: string): Promise<void> {
  await db.query(sql`delete from retention_policies where tenant = ${tenant}`);
}

/** What lies where of a tenant, its policy in force and its latest move. */
export type TenantState = PolicyTerms & {
  tenant: string;
  from_default: boolean;
  count: number;
  bytes: number;
  cold_count: number;
  cold_bytes: number;
  cold_stored_bytes: number;
  segments: number;
  move_id: string | null;
  move_kind: MoveKind;
  move_state: MoveState;
  move_at: string;
  move_error_code: string | null;
};

/** By tenant, from counters; segments and moves are looked up for the tenants of the page only. */
export async function listTenantStates(
  db: Queryable,
  filter: { q: string | undefined; reach: Reach },
  page: { after: string | null; limit: number },
): Promise<TenantState[]> {
  const prefix = filter.q ?? '';
  return db.query<TenantState>(sql`
    with page as (
      select tenant, count, bytes, cold_count, cold_bytes, cold_stored_bytes from leaf_tenants
      where tenant > ${page.after ?? ''} and tenant >= ${prefix} and tenant <= ${`${prefix}\u{10FFFF}`}
        and (${filter.reach}::text[] is null or tenant = any(${filter.reach}::text[]))
      order by tenant limit ${raw(String(page.limit))}
    )
    select page.tenant, page.count, page.bytes, page.cold_count, page.cold_bytes,
      page.cold_stored_bytes, policy.hot_days, policy.delete_days, policy.hold,
      policy.tenant <> page.tenant as from_default, live.segments,
      latest.id as move_id, latest.kind as move_kind, latest.state as move_state,
      latest.error_code as move_error_code, ${instantText('latest.at')} as move_at
    from page
    cross join lateral (
      select p.tenant, p.hot_days, p.delete_days, p.hold from retention_policies p
      where p.tenant in (page.tenant, ${defaultTenant}) order by p.tenant = page.tenant desc limit 1
    ) policy
    cross join lateral (
      select count(*) as segments from segments s where s.tenant = page.tenant
    ) live
    left join lateral (
      select m.id, m.kind, m.state, m.error_code, greatest(m.planned_at, m.copied_at, m.verified_at,
        m.switched_at, m.removed_at, m.failed_at) as at
      from moves m where m.tenant = page.tenant order by m.planned_at desc, m.id desc limit 1
    ) latest on true
    order by page.tenant`);
}

import sql, { raw, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { MoveKind, MoveState } from '../values.ts';

/** The name under which the policy is stored that holds for all tenants without one of their own. */
export const defaultTenant = '*';

/** A stored policy: of a tenant, or the default. `updated_by` is null for the default as installed. */
export type StoredPolicy = {
  tenant: string;
  hot_days: number;
  delete_days: number | null;
  hold: boolean;
  updated_at: string;
  updated_by: string | null;
};

/** The terms that an operator decides. */
export type PolicyTerms = Pick<StoredPolicy, 'hot_days' | 'delete_days' | 'hold'>;

/** The tenants that the caller may touch; null means all. */
type Reach = readonly string[] | null;

const columns = sql`retention_policies.tenant, hot_days, delete_days, hold,
  ${instantText('retention_policies.updated_at')} as updated_at, updated_by`;

/** Lists policies: the default first, then by tenant. `page.after` has the tenant of the last row seen. */
export async function listPolicies(
  db: Queryable,
  reach: Reach,
  page: { after: readonly string[] | null; limit: number },
): Promise<StoredPolicy[]> {
  const after = page.after?.[0] ?? null;
  const { limit } = page;
  return db.query<StoredPolicy>(sql`
    select ${columns} from retention_policies
    where (${reach}::text[] is null or tenant = ${defaultTenant} or tenant = any(${reach}::text[]))
      and (${after}::text is null or tenant <> ${defaultTenant}
        and (${after} = ${defaultTenant} or tenant > ${after}))
    order by tenant <> ${defaultTenant}, tenant limit ${limit}`);
}

/** Finds the policy in force for a tenant: its own, or else the default. */
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
 * Lets only one transaction at a time change policies. It locks the default's row, because a tenant without a policy
 * has none that could be locked. What is read afterwards is what the last change has left.
 */
export async function lockPolicies(db: Queryable): Promise<void> {
  await db.query(sql`
    select tenant from retention_policies where tenant = ${defaultTenant} for update`);
}

/** Finds a tenant's own policy; undefined when the default is in force. */
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
    with retention_policies as (
      insert into retention_policies (tenant, hot_days, delete_days, hold, updated_at, updated_by)
      values (${tenant}, ${terms.hot_days}, ${terms.delete_days}, ${terms.hold}, now(), ${updatedBy})
      on conflict (tenant) do update set hot_days = excluded.hot_days, delete_days = excluded.delete_days,
        hold = excluded.hold, updated_at = excluded.updated_at, updated_by = excluded.updated_by
      returning *
    ) select ${columns} from retention_policies`);
  return rows[0];
}

export async function deletePolicy(db: Queryable, tenant: string): Promise<void> {
  await db.query(sql`delete from retention_policies where tenant = ${tenant}`);
}

/** How much of a tenant is hot and cold, its policy in force and its latest move. */
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

/** Lists tenants from the counters, by name. Segments and moves are looked up only for the tenants of the page. */
export async function listTenantStates(
  db: Queryable,
  filter: { q: string | undefined; reach: Reach },
  page: { after: readonly string[] | null; limit: number },
): Promise<TenantState[]> {
  const prefix = filter.q ?? '';
  return db.query<TenantState>(sql`
    with page as (
      select tenant, count, bytes, cold_count, cold_bytes, cold_stored_bytes from leaf_tenants
      where tenant > ${page.after?.[0] ?? ''} and tenant >= ${prefix} and tenant <= ${`${prefix}\u{10FFFF}`}
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

/** The tenants and days that a plan looks at. */
export type PlanScope = {
  /** Only this tenant. */
  tenant?: string | null | undefined;
  /** Only these tenants; null means all. */
  tenants: readonly string[] | null;
  /** Only days before this one. */
  before?: string | null | undefined;
  /** Whether days of dataset versions are deleted like any others. */
  deleteVersioned?: boolean | undefined;
};

export type PlanKey = readonly [tenant: string, kind: string];

/**
 * What is due of a tenant. All rows of one answer have the same totals; an empty page is one row that has only these.
 */
export type PlannedRow = {
  tenant: string | null;
  kind: 'move' | 'delete';
  first_day: string;
  last_day: string;
  count: number;
  bytes: number;
  held: boolean;
  versioned_count: number;
  versioned_bytes: number;
  versions: string[];
  move_tenants: number;
  move_count: number;
  move_bytes: number;
  delete_tenants: number;
  delete_count: number;
  delete_bytes: number;
  held_tenants: number;
  held_count: number;
  held_bytes: number;
  versioned_tenants: number;
  versioned_count_total: number;
  versioned_bytes_total: number;
};

/** Today by the database's clock, which all processes share. */
const today = raw(`(now() at time zone 'UTC')::date`);

/**
 * The days that a policy allows to be moved and deleted: those before move_until and delete_until; null means none. A
 * policy counts as a whole: a tenant's own policy without delete_days keeps what the default would delete.
 */
function bounds(before: string | null | undefined): Sql {
  const limit = sql`${before ?? null}::date`;
  return sql`least(${today} - policy.hot_days, ${limit}) as move_until,
    case when policy.delete_days is not null then least(${today} - policy.delete_days, ${limit}) end
      as delete_until`;
}

/** The policy in force for a tenant, as a subquery. */
const policyOf = (tenant: Sql) => sql`
  select p.hot_days, p.delete_days, p.hold from retention_policies p where p.tenant in (${tenant}, '*')
  order by p.tenant = ${tenant} desc limit 1`;

/**
 * The tenants in reach, with their bounds and counters. `first_day` is the day of their oldest record: for most tenants
 * it shows that nothing is due, without a look at their days.
 */
function boundedTenants(scope: PlanScope, more: Sql = sql`true`): Sql {
  return sql`
    select t.tenant, t.count, t.cold_count, (t.first_at at time zone 'UTC')::date as first_day,
      policy.hold, ${bounds(scope.before)}
    from leaf_tenants t cross join lateral (${policyOf(raw('t.tenant'))}) policy
    where (${scope.tenant ?? null}::text is null or t.tenant = ${scope.tenant ?? null})
      and (${scope.tenants}::text[] is null or t.tenant = any(${scope.tenants}::text[])) and ${more}`;
}

/**
 * The counters of days and, beside each, all days that dataset versions of the tenant of `t` have. Whole days of a
 * tenant are deleted, so a window of any store keeps its days. The days are one range value for each tenant: a look at
 * the windows for each of a million counters would take seconds.
 */
function daysAndKept({ deleteVersioned = false }: PlanScope): Sql {
  return sql`leaf_days d cross join (
    select range_agg(daterange(w.first_day, w.until)) as days from dataset_version_windows w
    where w.tenant = t.tenant and not ${deleteVersioned}::boolean
  ) kept`;
}
const isKept = raw('coalesce(d.day <@ kept.days, false)');
// Days that are kept from deletion become cold like any other day.
const isHotAndDue = sql`d.tenant = t.tenant and d.has_hot and d.day < t.move_until
  and (t.delete_until is null or d.day >= t.delete_until or ${isKept})`;
const isToGo = raw('d.tenant = t.tenant and d.day < t.delete_until');

/** Lists what a run would do now, by tenant and kind, with the totals over everything. */
export async function listPlan(
  db: Queryable,
  scope: PlanScope,
  page: { after: PlanKey | null; limit: number },
): Promise<PlannedRow[]> {
  const [tenant, kind] = page.after ?? ['', ''];
  return db.query<PlannedRow>(sql`
    with bounded as materialized (${boundedTenants(scope)}), due as materialized (
      select t.tenant, 'move' collate "C" as kind, t.hold as held, hot.first_day, hot.last_day, hot.count,
        hot.bytes, 0::bigint as versioned_count, 0::bigint as versioned_bytes
      from bounded t cross join lateral (
        select min(d.day) as first_day, max(d.day) as last_day,
          sum(d.count - d.cold_count)::bigint as count, sum(d.bytes - d.cold_bytes)::bigint as bytes
        from ${daysAndKept(scope)} where ${isHotAndDue}
      ) hot
      where t.count > t.cold_count and t.first_day < t.move_until and hot.count is not null
      union all
      select t.tenant, 'delete', t.hold, coalesce(gone.first_day, gone.first_kept),
        coalesce(gone.last_day, gone.last_kept), coalesce(gone.count, 0), coalesce(gone.bytes, 0),
        coalesce(gone.versioned_count, 0), coalesce(gone.versioned_bytes, 0)
      from bounded t cross join lateral (
        select min(day) filter (where not is_kept) as first_day, max(day) filter (where not is_kept) as last_day,
          min(day) as first_kept, max(day) as last_kept,
          sum(count) filter (where not is_kept)::bigint as count,
          sum(bytes) filter (where not is_kept)::bigint as bytes,
          sum(count) filter (where is_kept)::bigint as versioned_count,
          sum(bytes) filter (where is_kept)::bigint as versioned_bytes
        from (
          select d.day, d.count, d.bytes, ${isKept} as is_kept
          from ${daysAndKept(scope)} where ${isToGo} and d.count > 0
        ) own
      ) gone
      where t.first_day < t.delete_until and gone.first_kept is not null
    ), totals as (
      select ${sums('move', raw(`kind = 'move' and not held`))},
        ${sums('delete', raw(`kind = 'delete' and not held and count > 0`))},
        ${sums('held', raw('held and count > 0'))},
        count(*) filter (where versioned_count > 0 and not held) as versioned_tenants,
        coalesce(sum(versioned_count) filter (where not held), 0)::bigint as versioned_count_total,
        coalesce(sum(versioned_bytes) filter (where not held), 0)::bigint as versioned_bytes_total
      from due
    )
    select row.tenant, row.kind, row.first_day, row.last_day, row.count, row.bytes, row.held,
      row.versioned_count, row.versioned_bytes, ${keepers} as versions,
      totals.move_tenants, totals.move_count, totals.move_bytes, totals.delete_tenants,
      totals.delete_count, totals.delete_bytes, totals.held_tenants, totals.held_count,
      totals.held_bytes, totals.versioned_tenants, totals.versioned_count_total,
      totals.versioned_bytes_total
    from totals left join (
      select * from due where (tenant, kind) > (${tenant}, ${kind})
      order by tenant, kind limit ${raw(String(page.limit))}
    ) row on true
    order by row.tenant, row.kind`);
}

/** The names of the versions that keep days of a row from being deleted. */
const keepers = sql`array(
  select v.name from dataset_versions v
  where row.versioned_count > 0 and v.tenant = row.tenant and exists (
    select from dataset_version_windows w join bounded t on t.tenant = w.tenant
    where w.tenant = v.tenant and w.version_id = v.id and w.first_day < t.delete_until)
  order by v.name limit 20)`;

function sums(name: string, condition: Sql): Sql {
  return sql`count(distinct tenant) filter (where ${condition}) as ${raw(`${name}_tenants`)},
    coalesce(sum(count) filter (where ${condition}), 0)::bigint as ${raw(`${name}_count`)},
    coalesce(sum(bytes) filter (where ${condition}), 0)::bigint as ${raw(`${name}_bytes`)}`;
}

/** A tenant that a run has to work on, and which kinds of work it has. */
export type DueTenant = { tenant: string; has_moves: boolean; has_deletes: boolean };

const hasOpenMoves = (kinds: string) => sql`exists (
  select from moves m where m.tenant = t.tenant and m.state not in ('removed', 'failed')
    and m.kind in (${raw(kinds)}))`;

/**
 * Lists the tenants after `after` that a run has to work on: those with days that are due, and those with a move that a
 * killed process left unfinished. Tenants on hold are left out.
 */
export async function listDueTenants(
  db: Queryable,
  scope: PlanScope,
  page: { after: string; limit: number },
): Promise<DueTenant[]> {
  const hasMoves = sql`(t.count > t.cold_count and t.first_day < t.move_until
      and exists (select from ${daysAndKept(scope)} where ${isHotAndDue}) or ${hasOpenMoves(`'move', 'compact', 'erase'`)})`;
  const hasDeletes = sql`(coalesce(t.first_day < t.delete_until, false)
      and exists (select from ${daysAndKept(scope)} where ${isToGo} and d.count > 0 and not ${isKept}) or ${hasOpenMoves(`'delete'`)})`;
  // Both conditions are written out twice: as columns of a subquery they would be computed for all tenants before the
  // limit.
  return db.query<DueTenant>(sql`
    select t.tenant, ${hasMoves} as has_moves, ${hasDeletes} as has_deletes
    from (${boundedTenants(scope, sql`t.tenant > ${page.after}`)}) t
    where not t.hold and (${hasMoves} or ${hasDeletes})
    order by t.tenant limit ${raw(String(page.limit))}`);
}

/** What the policy in force for a tenant allows now. */
export type DueDays = {
  hold: boolean;
  /** Days before this one may become cold. */
  move_until: string;
  /** Days before this one are deleted; null means that none are. */
  delete_until: string | null;
  /** The last days that may be moved and deleted. */
  last_move_day: string;
  last_delete_day: string | null;
};

/** Reads that; undefined when the default policy is missing. */
export async function findDueDays(
  db: Queryable,
  tenant: string,
  before: string | null | undefined,
): Promise<DueDays | undefined> {
  const rows = await db.query<DueDays>(sql`
    select hold, move_until, delete_until, move_until - 1 as last_move_day,
      delete_until - 1 as last_delete_day
    from (
      select policy.hold, ${bounds(before)} from (${policyOf(sql`${tenant}::text`)}) policy
    ) due`);
  return rows[0];
}

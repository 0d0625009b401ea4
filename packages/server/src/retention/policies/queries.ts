import sql, { empty, raw, type Sql } from 'sql-template-tag';
import { onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { givenRows, instantText } from '../../platform/postgres/sql-text.ts';
import type { PolicyRow, TenantStateRow } from '../contract.ts';
import type { TenantOrder } from '../values.ts';

/** The name under which the policy is stored that holds for all tenants without one of their own. */
export const defaultTenant = '*';

/** A stored policy: of a tenant, or the default. `updated_by` is null for the default as installed. */
export type StoredPolicy = Omit<PolicyRow, 'from_default'>;

/** The terms that an operator decides. */
type PolicyTerms = Pick<StoredPolicy, 'hot_days' | 'delete_days' | 'hold'>;

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
): Promise<StoredPolicy> {
  const rows = await db.query<StoredPolicy>(sql`
    with retention_policies as (
      insert into retention_policies (tenant, hot_days, delete_days, hold, updated_at, updated_by)
      values (${tenant}, ${terms.hot_days}, ${terms.delete_days}, ${terms.hold}, now(), ${updatedBy})
      on conflict (tenant) do update set hot_days = excluded.hot_days, delete_days = excluded.delete_days,
        hold = excluded.hold, updated_at = excluded.updated_at, updated_by = excluded.updated_by
      returning *
    ) select ${columns} from retention_policies`);
  return onlyRow(rows);
}

export async function deletePolicy(db: Queryable, tenant: string): Promise<void> {
  await db.query(sql`delete from retention_policies where tenant = ${tenant}`);
}

/**
 * Lists tenants from the counters, by name or first those of which most bytes are due; `page.after` has the tenant of the
 * last row seen, and before it, where the order is by what is due, its bytes. Segments and moves are looked up for the
 * page, in parts for a cluster's workers.
 */
export async function listTenantStates(
  db: Queryable,
  filter: { q?: string | undefined; reach: Reach; order?: TenantOrder | undefined },
  page: { after: readonly string[] | null; limit: number },
): Promise<TenantStateRow[]> {
  const prefix = filter.q ?? '';
  const inReach = filter.reach === null ? empty : sql`and t.tenant = any(${filter.reach}::text[])`;
  const isByDue = filter.order === 'due';
  const [tenant = '', bytes = null] = page.after?.toReversed() ?? [];
  const isAfter = sql`(due.due_bytes < ${bytes}::bigint
    or (due.due_bytes = ${bytes}::bigint and t.tenant > ${tenant}))`;
  return db.query<TenantStateRow>(sql`
    with page as materialized (
      select t.tenant, t.count, t.bytes, t.cold_count, t.cold_bytes, t.cold_stored_bytes
        ${isByDue ? sql`, due.due_bytes, due.due` : empty}
      from leaf_tenants t ${isByDue ? joinDue : empty}
      where t.tenant >= ${prefix} and t.tenant <= ${`${prefix}\u{10FFFF}`} ${inReach}
        and ${!isByDue ? sql`t.tenant > ${tenant}` : bytes === null ? sql`true` : isAfter}
      order by ${isByDue ? sql`due.due_bytes desc,` : empty} t.tenant limit ${raw(String(page.limit))}
    ), live as materialized (
      select segments.tenant, count(*) as segments from page join segments using (tenant)
      group by segments.tenant
    ), latest as materialized (
      select t.tenant, latest.* from leaf_tenants t cross join lateral (
        select m.id, m.kind, m.state, m.error_code, greatest(m.planned_at, m.copied_at, m.verified_at,
          m.switched_at, m.removed_at, m.failed_at) as at
        from moves m where m.tenant = t.tenant order by m.planned_at desc, m.id desc limit 1
      ) latest where t.tenant in (select tenant from page)
    )
    select page.tenant, json_build_object('hot_days', policy.hot_days, 'delete_days', policy.delete_days,
        'hold', policy.hold, 'from_default', own.tenant is null) as policy,
      page.count, page.bytes, page.count - page.cold_count as hot_count,
      page.bytes - page.cold_bytes as hot_bytes, page.cold_count, page.cold_bytes, page.cold_stored_bytes,
      coalesce(live.segments, 0) as segments, case when latest.id is not null then json_build_object(
        'id', latest.id, 'kind', latest.kind, 'state', latest.state, 'at', ${instantText('latest.at')},
        'error_code', latest.error_code) end as last_move ${isByDue ? sql`, page.due` : empty}
    from page
    left join retention_policies own on own.tenant = page.tenant
    join retention_policies policy on policy.tenant = coalesce(own.tenant, ${defaultTenant})
    left join live on live.tenant = page.tenant
    left join latest on latest.tenant = page.tenant
    order by ${isByDue ? sql`page.due_bytes desc,` : empty} page.tenant`);
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

/** What is due of a tenant. Its days are those of all its stores together. */
export type DueTenant = {
  tenant: string;
  hold: boolean;
  /** Days before this one are deleted; null means that none are. */
  delete_until: string | null;
  /** Days that become cold. They are null, and so are the sums, when there are none. */
  move_first: string | null;
  move_last: string | null;
  move_count: number | null;
  move_bytes: number | null;
  /** Days that are deleted, or that would be if no dataset version kept them. */
  delete_first: string | null;
  delete_last: string | null;
  delete_count: number | null;
  delete_bytes: number | null;
  versioned_count: number | null;
  versioned_bytes: number | null;
  /** Whether a process that was killed left moves, merges or erasures unfinished, and deletions. */
  has_open_moves: boolean;
  has_open_deletes: boolean;
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

/**
 * Joins what a run would move and delete of each tenant; what a legal hold keeps is not due. The order by its bytes is
 * that of no index, for they change with each midnight and policy. So all tenants are looked at for each page, each along
 * the keys of its own days, of which only those that are due are read.
 */
const joinDue = sql`
  left join retention_policies own on own.tenant = t.tenant
  join retention_policies policy on policy.tenant = coalesce(own.tenant, ${defaultTenant})
  cross join lateral (select ${bounds(null)}) until
  left join lateral (
    select w.tenant, range_agg(daterange(w.first_day, w.until)) as days
    from dataset_version_windows w where w.tenant = t.tenant group by w.tenant
  ) kept on true
  left join lateral (
    select d.tenant, min(d.day) as first_day, sum(d.count - d.cold_count)::bigint as count,
      sum(d.bytes - d.cold_bytes)::bigint as bytes
    from tenant_days d
    where d.tenant = t.tenant and d.has_hot and d.day < until.move_until and not policy.hold
      and (until.delete_until is null or d.day >= until.delete_until or d.day <@ kept.days)
    group by d.tenant
  ) hot on true
  left join lateral (
    select d.tenant, min(d.day) as first_day, sum(d.count)::bigint as count, sum(d.bytes)::bigint as bytes
    from tenant_days d
    where d.tenant = t.tenant and d.count > 0 and d.day < until.delete_until and not policy.hold
      and not coalesce(d.day <@ kept.days, false)
    group by d.tenant
  ) gone on true
  cross join lateral (
    select coalesce(hot.bytes, 0) + coalesce(gone.bytes, 0) as due_bytes,
      case when coalesce(hot.tenant, gone.tenant) is not null then json_build_object(
        'count', coalesce(hot.count, 0) + coalesce(gone.count, 0),
        'bytes', coalesce(hot.bytes, 0) + coalesce(gone.bytes, 0),
        'first_day', least(hot.first_day, gone.first_day)) end as due
  ) due`;

/** Where the next tenants begin, and how many are looked at. */
type DuePage = { readonly from: string; readonly isAfter: boolean; readonly limit: number };

/**
 * Looks at the next tenants in reach, and lists what is due of them by tenant; one whose records are all erased may have
 * a move to be ended. The last tenant of the stretch is always listed, so the next stretch begins after it; no row means
 * that there are no more. A stretch is read along the keys of its tenants, and of their days only those that are due are
 * read, however many there are.
 */
export async function listDue(
  db: Queryable,
  scope: PlanScope,
  page: DuePage,
): Promise<DueTenant[]> {
  const { tenant = null, tenants, before, deleteVersioned = false } = scope;
  const isKept = raw('coalesce(d.day <@ kept.days, false)');
  // A condition that may be empty (`is null or`) looks as if it left few tenants, and PostgreSQL, which plans this once
  // for all values, would then sort all that follow for each stretch.
  const inReach = tenants === null ? empty : sql`and t.tenant = any(${tenants}::text[])`;
  const isWanted = tenant === null ? empty : sql`and t.tenant = ${tenant}`;
  const limit = raw(String(page.limit));
  const nextOf = (table: string, more = empty) => sql`(
    select distinct t.tenant from ${raw(table)} t
    where t.tenant ${raw(page.isAfter ? '>' : '>=')} ${page.from} ${isWanted} ${inReach} ${more}
    order by t.tenant limit ${limit})`;
  // Looks the days up along the key, tenant by tenant. From the join alone PostgreSQL may begin with the days, and then
  // reads those of all tenants for each stretch, for it knows neither that few are hot nor that nothing is deleted.
  const lookUp = (
    until: Sql,
  ) => sql`d.day < t.${until} and d.day < (select max(${until}) from bounded)
    and d.tenant = any(array(select tenant from bounded where ${until} is not null))`;
  return db.query<DueTenant>(sql`
    with bounded as materialized (
      select policy.tenant, policy.hold, ${bounds(before)} from (
        select t.tenant, coalesce(own.hold, base.hold) as hold,
          coalesce(own.hot_days, base.hot_days) as hot_days,
          case when own.tenant is null then base.delete_days else own.delete_days end as delete_days
        from (${nextOf('leaf_tenants')} union ${nextOf('moves', sql`and t.state not in ('removed', 'failed')`)}) t
        left join retention_policies own on own.tenant = t.tenant
        left join retention_policies base on base.tenant = ${defaultTenant}
        where coalesce(own.tenant, base.tenant) is not null
        order by t.tenant limit ${limit}
      ) policy
    ), kept as (
      select w.tenant, range_agg(daterange(w.first_day, w.until)) as days
      from bounded t join dataset_version_windows w on w.tenant = t.tenant
      where not ${deleteVersioned}::boolean group by w.tenant
    ), hot as (
      select t.tenant, min(d.day) as first_day, max(d.day) as last_day,
        sum(d.count - d.cold_count)::bigint as count, sum(d.bytes - d.cold_bytes)::bigint as bytes
      from bounded t join tenant_days d on d.tenant = t.tenant left join kept on kept.tenant = t.tenant
      where d.has_hot and ${lookUp(raw('move_until'))}
        and (t.delete_until is null or d.day >= t.delete_until or ${isKept})
      group by t.tenant
    ), gone as (
      select tenant, min(day) filter (where not is_kept) as first_day,
        max(day) filter (where not is_kept) as last_day, min(day) as first_kept, max(day) as last_kept,
        coalesce(sum(count) filter (where not is_kept), 0)::bigint as count,
        coalesce(sum(bytes) filter (where not is_kept), 0)::bigint as bytes,
        coalesce(sum(count) filter (where is_kept), 0)::bigint as versioned_count,
        coalesce(sum(bytes) filter (where is_kept), 0)::bigint as versioned_bytes
      from (
        select t.tenant, d.day, d.count, d.bytes, ${isKept} as is_kept
        from bounded t join tenant_days d on d.tenant = t.tenant left join kept on kept.tenant = t.tenant
        where d.count > 0 and ${lookUp(raw('delete_until'))}
      ) days group by tenant
    ), open as (
      select t.tenant, bool_or(m.kind <> 'delete') as has_moves, bool_or(m.kind = 'delete') as has_deletes
      from bounded t join moves m on m.tenant = t.tenant
      where m.state not in ('removed', 'failed') group by t.tenant
    )
    select t.tenant, t.hold, t.delete_until, hot.first_day as move_first, hot.last_day as move_last,
      hot.count as move_count, hot.bytes as move_bytes,
      coalesce(gone.first_day, gone.first_kept) as delete_first,
      coalesce(gone.last_day, gone.last_kept) as delete_last, gone.count as delete_count,
      gone.bytes as delete_bytes, gone.versioned_count, gone.versioned_bytes,
      coalesce(open.has_moves, false) as has_open_moves,
      coalesce(open.has_deletes, false) as has_open_deletes
    from bounded t
    left join hot on hot.tenant = t.tenant
    left join gone on gone.tenant = t.tenant
    left join open on open.tenant = t.tenant
    where hot.tenant is not null or gone.tenant is not null or open.tenant is not null
      or t.tenant = (select max(tenant) from bounded)
    order by t.tenant`);
}

/** Lists the names of the versions that keep days of these tenants, before a day for each, from being deleted. */
export async function listKeepers(
  db: Queryable,
  rows: readonly { readonly tenant: string; readonly until: string | null }[],
): Promise<{ tenant: string; name: string }[]> {
  return db.query(sql`
    select v.tenant, v.name
    from ${givenRows('wanted', rows, { tenant: 'text', until: 'date' })}
    join dataset_version_windows w on w.tenant = wanted.tenant and w.first_day < wanted.until
    join dataset_versions v on v.tenant = w.tenant and v.id = w.version_id
    group by v.tenant, v.id, v.name order by v.tenant, v.name`);
}

/** What the policy in force for a tenant allows now. Days are `YYYY-MM-DD`. */
export type DueDays = {
  /** Legal hold: nothing may be done to the tenant, whatever the days say. */
  readonly hold: boolean;
  /** The last day whose hot records may become cold. */
  readonly lastMoveDay: string;
  /** The last day of which all records are deleted; null means that none are. */
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
  const [due] = await db.query<DueDays>(sql`
    select hold, move_until - 1 as "lastMoveDay", delete_until - 1 as "lastDeleteDay"
    from (
      select policy.hold, ${bounds(before)} from (
        select hot_days, delete_days, hold from retention_policies
        where tenant in (${tenant}, ${defaultTenant}) order by tenant = ${tenant} desc limit 1
      ) policy
    ) due`);
  if (due === undefined) {
    throw new Error('retention_policies has no default (*): put it back with PUT');
  }
  return due;
}

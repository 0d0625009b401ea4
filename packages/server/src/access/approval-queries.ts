import sql, { type Sql } from 'sql-template-tag';
import { type Actor, hasScope } from '../kernel/actor.ts';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { Approval } from './approvals.contract.ts';
import { isRevoked, rootOf } from './queries.ts';
import type { ApprovalState } from './values.ts';

/** A request as it is kept, with the call that is done once it is confirmed. */
export type StoredApproval = Omit<Approval, 'method' | 'path'> & {
  route: string;
  params: Record<string, string>;
  body: unknown;
  about: unknown;
  request_id: string;
};

const isWaiting = sql`approvals.state = 'waiting' and approvals.expires_at > now()`;
const isLost = sql`(${isRevoked('asker')} or coalesce(asker.expires_at <= now(), false))`;

const columns = (root: Sql) => sql`approvals.id,
  case when approvals.state <> 'waiting' then approvals.state when approvals.expires_at <= now() then 'expired'
    when ${isLost} then 'void' else 'waiting' end as state,
  acts, says, route, params, body, about, tenant,
  json_build_object('id', asker_id, 'name', asker_name) as asked_by, asker_root = ${root} as is_own,
  ${instantText('asked_at')} as asked_at, address, user_agent, request_id,
  ${instantText('approvals.expires_at')} as expires_at, ${instantText('ended_at')} as ended_at,
  case when ended_by_id is not null then json_build_object('id', ended_by_id, 'name', ended_by_name) end as ended_by,
  outcome`;

const reached = (reach: readonly string[] | null) =>
  sql`(${reach}::text[] is null or tenant = any(${reach}::text[]))`;

/** What an actor may see: an admin what they reach, anybody else what they asked for themselves. */
const seenBy = (actor: Actor) =>
  sql`(${reached(actor.tenants)} and (${hasScope(actor, 'admin')}::boolean or asker_id = ${actor.tokenId}))`;

export async function listApprovals(
  db: Queryable,
  actor: Actor,
  state: ApprovalState | undefined,
): Promise<StoredApproval[]> {
  return db.query<StoredApproval>(sql`
    select * from (
      select ${columns(rootOf(actor.tokenId))} from approvals join access_tokens asker on asker.id = asker_id
      where ${seenBy(actor)}
    ) found
    where ${state ?? null}::text is null or state = ${state ?? null} order by asked_at desc, id limit 1000`);
}

/** The oldest that wait for somebody else, for those who reach these tenants; null: all. */
export async function listWaitingApprovals(
  db: Queryable,
  reach: readonly string[] | null,
): Promise<{ id: string; says: string; asker: string; tenant: string | null; since: string }[]> {
  return db.query(sql`
    select approvals.id, says, asker_name as asker, tenant, ${instantText('asked_at')} as since
    from approvals join access_tokens asker on asker.id = asker_id
    where ${isWaiting} and not ${isLost} and ${reached(reach)} order by asked_at, approvals.id limit 100`);
}

export async function findApproval(
  db: Queryable,
  actor: Actor,
  id: string,
): Promise<StoredApproval | undefined> {
  const rows = await db.query<StoredApproval>(sql`
    select ${columns(rootOf(actor.tokenId))} from approvals join access_tokens asker on asker.id = asker_id
    where approvals.id = ${id} and ${seenBy(actor)}`);
  return rows[0];
}

/** What is kept of a call that somebody else must confirm. */
type NewApproval = {
  readonly id: string;
  readonly acts: readonly string[];
  readonly route: string;
  /** JSON, as is the body; null: there is none. */
  readonly params: string;
  readonly body: string | null;
  readonly says: string;
  readonly about: string;
  readonly tenant: string | null;
  readonly asker: Actor;
  readonly requestId: string;
  readonly address: string | null;
  readonly userAgent: string | null;
};

/** The request of the same asker for the same call that waits, if there is one, and how many of the asker's wait. */
export async function findSame(
  db: Queryable,
  { asker, route, params, body, about }: NewApproval,
): Promise<{ id: string | null; waiting: number }> {
  const rows = await db.query<{ id: string | null; waiting: number }>(sql`
    select count(*)::integer as waiting, max(id) filter (where route = ${route} and params::text = ${params}
      and body::text is not distinct from ${body} and about::text = ${about}) as id
    from approvals where asker_id = ${asker.tokenId} and ${isWaiting}`);
  return onlyRow(rows);
}

export async function insertApproval(db: Queryable, row: NewApproval): Promise<void> {
  const { asker } = row;
  await db.query(sql`
    insert into approvals (id, acts, route, params, body, says, about, tenant, asker_id, asker_name, asker_root,
      request_id, address, user_agent)
    values (${row.id}, ${row.acts}, ${row.route}, ${row.params}::json, ${row.body}::json, ${row.says}, ${row.about}::json,
      ${row.tenant}, ${asker.tokenId}, ${asker.name}, ${rootOf(asker.tokenId)},
      ${row.requestId}, ${row.address}, ${row.userAgent})`);
}

/**
 * Marks a request as confirmed by this run, which forgets the body. Answers whether this run had not done so before;
 * undefined when it does not wait any more. Of two runs at once the second waits for the first, and finds it ended.
 */
export async function settleApproval(
  db: Queryable,
  id: string,
  { by, run }: { by: Actor; run: string },
): Promise<boolean | undefined> {
  const rows = await db.query<{ is_first: boolean }>(sql`
    update approvals set state = 'confirmed', ended_at = now(), run = ${run}, body = null,
      ended_by_id = ${by.tokenId}, ended_by_name = ${by.name}
    from (select id, state from approvals where id = ${id} for update) old
    where approvals.id = old.id and (${isWaiting} or run = ${run})
    returning old.state = 'waiting' as is_first`);
  return rows[0]?.is_first;
}

/** Ends a request that waits, which forgets its body. Answers whether it did. */
export async function endApproval(
  db: Queryable,
  id: string,
  { by, state }: { by: Actor; state: 'rejected' | 'void' },
): Promise<boolean> {
  const rows = await db.query(sql`
    update approvals set state = ${state}, ended_at = now(), body = null,
      ended_by_id = ${by.tokenId}, ended_by_name = ${by.name}
    where id = ${id} and ${isWaiting} returning id`);
  return rows.length > 0;
}

/** Notes how the act of a run ended. */
export async function noteOutcome(db: Queryable, run: string, outcome: string): Promise<void> {
  await db.query(sql`update approvals set outcome = ${outcome} where run = ${run}`);
}

/** Ends requests whose time is over or whose asker lost the right, and returns them; forgets those of 30 days ago. */
export async function endOverdue(
  db: Queryable,
): Promise<{ id: string; state: 'expired' | 'void'; says: string; tenant: string | null }[]> {
  await db.query(sql`delete from approvals where ended_at < now() - interval '30 days'`);
  return db.query(sql`
    update approvals set ended_at = now(), body = null,
      state = case when approvals.expires_at <= now() then 'expired' else 'void' end
    from access_tokens asker
    where asker.id = asker_id and approvals.state = 'waiting' and (approvals.expires_at <= now() or ${isLost})
    returning approvals.id, approvals.state, says, tenant`);
}

import sql, { raw, type Sql } from 'sql-template-tag';
import { type Connection, onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { type TargetKind, type Telling, troubleKinds } from '../values.ts';
import type { Notice, NotifyTarget } from './contract.ts';
import type { Found, NoticeRule, OpenTrouble } from './reconcile.ts';

/** Whether this transaction alone may change notices. */
export async function tryLockNotices(connection: Connection): Promise<boolean> {
  const rows = await connection.query<{ is_locked: boolean }>(
    sql`select pg_try_advisory_xact_lock(${advisoryLocks.notices}) as is_locked`,
  );
  return onlyRow(rows).is_locked;
}

const ageOf = (column: string) => raw(`extract(epoch from now() - ${column})::float8`);

export async function listOpenTroubles(db: Queryable): Promise<OpenTrouble[]> {
  return db.query<OpenTrouble>(sql`
    select id, kind, subject, ref, title, ${ageOf('created_at')} as age,
      ${ageOf('told_at')} as told_age, ${ageOf('missing_since')} as missing_age
    from notices where ended_at is null`);
}

/** A notice that is stored or changed: what was found, and which row it is. */
type NoticeChange = { id: string; found: Found; isTold: boolean };

const given = (changes: readonly NoticeChange[]) => sql`
  json_to_recordset(${JSON.stringify(
    changes.map(({ id, found, isTold }) => ({ ...found, id, isTold })),
  )}::json) as given (id text, kind text, subject text, ref text, severity text, tenant text,
    title text, advice text, place text, since timestamptz, "isTold" boolean)`;

/** Stores troubles that begin. */
export async function insertTroubles(
  db: Queryable,
  changes: readonly NoticeChange[],
): Promise<void> {
  if (changes.length === 0) return;
  await db.query(sql`
    insert into notices (id, kind, subject, ref, severity, tenant, title, advice, place, since, told_at)
    select id, kind, subject, ref, severity, tenant, title, advice, place, coalesce(since, now()),
      case when "isTold" then now() end
    from ${given(changes)}`);
}

/** Stores events that are not known yet, and returns the ids of those. */
export async function insertEvents(
  db: Queryable,
  changes: readonly NoticeChange[],
): Promise<Set<string>> {
  if (changes.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(sql`
    insert into notices (id, kind, subject, ref, severity, tenant, title, advice, place, since, told_at, ended_at)
    select id, kind, subject, ref, severity, tenant, title, advice, place, coalesce(since, now()), now(),
      coalesce(since, now())
    from ${given(changes)}
    on conflict (kind, subject) where kind in ('export_done', 'export_failed') do nothing
    returning id`);
  return new Set(rows.map(({ id }) => id));
}

/** Stores troubles that are found again. */
export async function updateTroubles(
  db: Queryable,
  changes: readonly NoticeChange[],
): Promise<void> {
  if (changes.length === 0) return;
  await db.query(sql`
    update notices n set ref = given.ref, tenant = given.tenant, title = given.title, advice = given.advice,
      place = given.place, missing_since = null,
      told_at = case when given."isTold" then now() else n.told_at end
    from ${given(changes)} where n.id = given.id`);
}

export async function markMissing(db: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query(sql`
    update notices set missing_since = now() where id = any(${ids}::text[]) and ended_at is null`);
}

/** A notice in the words in which it was told last. */
export type ToldRow = Omit<Found, keyof NoticeRule> & { id: string };

const toldColumns = sql`id, kind, subject, ref, severity, tenant, title, advice, place,
  ${instantText('since')} as since`;

export async function endTroubles(db: Queryable, ids: readonly string[]): Promise<ToldRow[]> {
  if (ids.length === 0) return [];
  return db.query<ToldRow>(sql`
    update notices set ended_at = missing_since
    where id = any(${ids}::text[]) and ended_at is null returning ${toldColumns}`);
}

/** Lists the troubles that are open and were told before this transaction. */
export async function listTold(db: Queryable): Promise<ToldRow[]> {
  return db.query<ToldRow>(sql`
    select ${toldColumns} from notices where ended_at is null and told_at < now() order by since, id`);
}

/** Notes that targets which were added or enabled are told of what is open, and returns their ids. */
export async function briefTargets(db: Queryable): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(sql`
    update notify_targets set briefed_at = now() where briefed_at is null and enabled returning id`);
  return new Set(rows.map(({ id }) => id));
}

export async function forgetTroubles(db: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query(sql`
    delete from notices where id = any(${ids}::text[]) and told_at is null and ended_at is null`);
}

/** Forgets notices and messages that ended more than `days` days ago. */
export async function forgetOldNotices(db: Queryable, days: number): Promise<void> {
  const old = sql`now() - make_interval(days => ${days})`;
  await db.query(sql`
    with gone as (
      delete from notice_sends where id = any(array(
        select id from notice_sends where created_at < ${old} and next_attempt_at is null
        order by created_at, id limit 1000))
    )
    delete from notices where id = any(array(
      select id from notices where created_at < ${old} and ended_at < ${old}
      order by created_at, id limit 1000))`);
}

/** A target without its secret. Times are RFC 3339 text. */
export type TargetRow = Omit<NotifyTarget, 'url' | 'to'> & { address: string };

const targetColumns = sql`t.id, kind, address, tenant, case when tenant is null then kinds else tenant_kinds end as kinds, min_severity, enabled, created_by,
  ${instantText('t.created_at')} as created_at, last_send
  from notify_targets t left join lateral (
    select json_build_object('at', ${instantText('coalesce(finished_at, created_at)')},
      'state', case when next_attempt_at is not null then 'queued' when delivered then 'delivered' else 'given_up' end,
      'attempts', attempts, 'error', error, 'is_test', is_test) as last_send
    from notice_sends s where s.target_id = t.id order by s.created_at desc, s.id desc limit 1
  ) as last on true`;

/** All targets; people make them one by one. */
export async function listTargets(db: Queryable): Promise<TargetRow[]> {
  return db.query<TargetRow>(sql`select ${targetColumns} order by t.created_at, t.id`);
}

export async function findTarget(db: Queryable, id: string): Promise<TargetRow | undefined> {
  const rows = await db.query<TargetRow>(sql`select ${targetColumns} where t.id = ${id}`);
  return rows[0];
}

export type NewTarget = Pick<
  TargetRow,
  'id' | 'kind' | 'address' | 'tenant' | 'kinds' | 'min_severity' | 'created_by'
> & { secret: Buffer | null };

export async function insertTarget(db: Queryable, target: NewTarget): Promise<void> {
  await db.query(sql`
    insert into notify_targets (id, kind, address, secret, tenant, kinds, tenant_kinds, min_severity, created_by,
      briefed_at)
    values (${target.id}, ${target.kind}, ${target.address}, ${target.secret}, ${target.tenant},
      ${target.tenant === null ? target.kinds : []}, ${target.tenant === null ? null : target.kinds},
      ${target.min_severity}, ${target.created_by}, null)`);
}

/** Locks a target until the end of the transaction. */
export async function lockTarget(db: Queryable, id: string): Promise<TargetRow | undefined> {
  await db.query(sql`select from notify_targets where id = ${id} for update`);
  return findTarget(db, id);
}

export async function updateTarget(
  db: Queryable,
  {
    id,
    kinds,
    min_severity,
    enabled,
  }: Pick<TargetRow, 'id' | 'kinds' | 'min_severity' | 'enabled'>,
): Promise<void> {
  await db.query(sql`
    update notify_targets set kinds = case when tenant is null then ${kinds}::text[] else kinds end,
      tenant_kinds = case when tenant is not null then ${kinds}::text[] end, min_severity = ${min_severity}, enabled = ${enabled},
      briefed_at = case when enabled or not ${enabled} then briefed_at end, updated_at = now()
    where id = ${id}`);
}

/** Removes a target with all that was, and was to be, sent to it. */
export async function deleteTarget(db: Queryable, id: string): Promise<void> {
  await db.query(sql`delete from notice_sends where target_id = ${id}`);
  await db.query(sql`delete from notify_targets where id = ${id}`);
}

/** One notice in a message. `since` is RFC 3339. */
export type Item = Omit<ToldRow, 'ref'> & { telling: Telling };

type NewSend = { id: string; targetId: string; items: readonly Item[]; more: number };

/**
 * Queues messages. Their targets stay until the end of the transaction: whoever removes one then removes its message, too,
 * and what was removed before gets none, as nobody would ever take it out of the queue.
 */
export async function insertSends(db: Queryable, sends: readonly NewSend[]): Promise<void> {
  if (sends.length === 0) return;
  await db.query(sql`
    with kept as (
      select id from notify_targets where id = any(${sends.map(({ targetId }) => targetId)}::text[]) for key share
    )
    insert into notice_sends (id, target_id, items, more, next_attempt_at)
    select given.id, target_id, items, more, now()
    from unnest(${sends.map(({ id }) => id)}::text[], ${sends.map(({ targetId }) => targetId)}::text[],
      ${sends.map(({ items }) => JSON.stringify(items))}::json[], ${sends.map(({ more }) => more)}::int[]
    ) as given (id, target_id, items, more) join kept on kept.id = target_id`);
}

/** A message that is to be sent now. */
export type DueSend = {
  id: string;
  target_id: string;
  kind: TargetKind;
  address: string;
  secret: Buffer | null;
  /** Whose people are told; null: operators. */
  tenant: string | null;
  items: Item[];
  more: number;
  /** Counts this attempt, too. */
  attempts: number;
  created_at: string;
};

/**
 * Takes messages that are due, the oldest first, and holds each back for `leaseSeconds`: when this process dies, another
 * one sends it then. Those of a target that was disabled since are sent all the same, as it had asked for them.
 */
export async function claimSends(
  db: Queryable,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<DueSend[]> {
  return db.query<DueSend>(sql`
    with due as (
      select id from notice_sends where next_attempt_at <= now()
      order by next_attempt_at limit ${limit} for update skip locked
    )
    update notice_sends s set attempts = attempts + 1,
      next_attempt_at = now() + make_interval(secs => ${leaseSeconds})
    from due, notify_targets t where s.id = due.id and t.id = s.target_id
    returning s.id, s.target_id, t.kind, t.address, t.secret, t.tenant, s.items, s.more, s.attempts,
      ${instantText('s.created_at')} as created_at`);
}

/** How an attempt ended; `retrySeconds` is null when there is no other. */
type SendOutcome = {
  id: string;
  attempts: number;
  error: string | null;
  status: number | null;
  retrySeconds: number | null;
};

/** Stores it, unless another process has taken the message since, because this one took too long. */
export async function storeOutcome(db: Queryable, outcome: SendOutcome): Promise<void> {
  const { id, attempts, error, status, retrySeconds } = outcome;
  await db.query(sql`
    update notice_sends set error = ${error}, status = ${status},
      delivered = case when ${retrySeconds}::float8 is null then ${error}::text is null end,
      next_attempt_at = now() + make_interval(secs => ${retrySeconds}::float8),
      finished_at = case when ${retrySeconds}::float8 is null then now() end
    where id = ${id} and attempts = ${attempts} and next_attempt_at is not null`);
}

/** Gives a message back whose attempt was cut, as if it had not been taken. */
export async function giveBackSend(
  db: Queryable,
  { id, attempts }: Pick<DueSend, 'id' | 'attempts'>,
): Promise<void> {
  await db.query(sql`
    update notice_sends set attempts = attempts - 1, next_attempt_at = now()
    where id = ${id} and attempts = ${attempts} and next_attempt_at is not null`);
}

/** Milliseconds until the next message is due; null when none waits. */
export async function findNextDue(db: Queryable): Promise<number | null> {
  const rows = await db.query<{ millis: number | null }>(sql`
    select extract(epoch from min(next_attempt_at) - now())::float8 * 1000 as millis
    from notice_sends where next_attempt_at is not null`);
  return onlyRow(rows).millis;
}

/** The address and the sealed secret of a target. */
export async function findAddress(
  db: Queryable,
  id: string,
): Promise<Pick<DueSend, 'kind' | 'address' | 'secret' | 'tenant'> | undefined> {
  const rows = await db.query<Pick<DueSend, 'kind' | 'address' | 'secret' | 'tenant'>>(
    sql`select kind, address, secret, tenant from notify_targets where id = ${id}`,
  );
  return rows[0];
}

/** Stores a test, which is made only once. */
export async function insertTest(
  db: Queryable,
  test: { id: string; targetId: string; items: readonly Item[] } & Pick<
    SendOutcome,
    'error' | 'status'
  >,
): Promise<void> {
  await db.query(sql`
    insert into notice_sends (id, target_id, items, is_test, attempts, delivered, error, status, finished_at)
    select ${test.id}, id, ${JSON.stringify(test.items)}::json, true, 1, ${test.error === null},
      ${test.error}, ${test.status}, now()
    from notify_targets where id = ${test.targetId}`);
}

/** A target to which the last message was given up; a test that succeeded since mends it. */
export type UnreachedTarget = { id: string; kind: TargetKind; address: string; since: string };

export async function listUnreached(db: Queryable): Promise<UnreachedTarget[]> {
  return db.query<UnreachedTarget>(sql`
    select t.id, kind, address, ${instantText('last.finished_at')} as since
    from notify_targets t cross join lateral (
      select delivered, finished_at from notice_sends s
      where s.target_id = t.id and finished_at is not null and (delivered or not is_test)
      order by s.finished_at desc limit 1
    ) as last
    where enabled and not last.delivered order by t.id`);
}

/** Whether there are records or endpoints, and no target is told when something is wrong with them, of any tenant. */
export async function isNobodyTold(db: Queryable): Promise<boolean> {
  // One after the other: a cluster spreads some of these tables.
  const has = async (rows: Sql) => (await db.query(sql`select from ${rows} limit 1`)).length > 0;
  const told = sql`notify_targets
    where enabled and tenant is null and (kinds is null or kinds && ${troubleKinds}::text[])`;
  if (await has(told)) return false;
  return (
    (await has(sql`leaf_tenants where count > 0`)) ||
    (await has(sql`webhook_endpoints where deleted_at is null`))
  );
}

/** The notices that were told, the newest first. */
export async function listNotices(
  db: Queryable,
  { after, limit }: { after: readonly string[] | null; limit: number },
): Promise<Notice[]> {
  const [at, id] = after ?? [null, null];
  return db.query<Notice>(sql`
    select id, kind, severity, subject, tenant, title, advice, place, ${instantText('since')} as since,
      ${instantText('notices.created_at')} as created_at, ${instantText('told_at')} as told_at,
      ${instantText('ended_at')} as ended_at
    from notices where told_at is not null
      and (${at}::text is null or (notices.created_at, id) < (${at}::timestamptz, ${id}))
    order by notices.created_at desc, id desc limit ${limit}`);
}

/** When the last event of the exports happened that is known; null when none is. */
export async function findLastEvent(db: Queryable): Promise<string | null> {
  const rows = await db.query<{ at: string | null }>(sql`
    select ${instantText('max(since)')} as at from notices where kind in ('export_done', 'export_failed')`);
  return onlyRow(rows).at;
}

/** Whether some target is to be told each day how far the audit log is, and none was for a day. */
export async function isHeadAwaited(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ is_awaited: boolean }>(sql`
    select exists (select from notify_targets
        where enabled and min_severity = 'info' and (kinds is null or 'audit_head' = any(kinds)))
      and not exists (select from notices
        where kind = 'audit_head' and created_at > now() - interval '1 day') as is_awaited`);
  return onlyRow(rows).is_awaited;
}

/** The targets that have a secret, sealed. */
export async function listSealedTargets(db: Queryable): Promise<{ id: string; secret: Buffer }[]> {
  return db.query(sql`select id, secret from notify_targets where secret is not null order by id`);
}

/** Stores the same secret, sealed anew, unless somebody has changed it since it was read. */
export async function replaceSealedTarget(
  db: Queryable,
  before: { id: string; secret: Buffer },
  secret: Buffer,
): Promise<void> {
  await db.query(sql`
    update notify_targets set secret = ${secret} where id = ${before.id} and secret = ${before.secret}`);
}

import sql, { raw, type Sql } from 'sql-template-tag';
import { reachOf } from '../kernel/actor.ts';
import { newId } from '../kernel/ids.ts';
import { type Scope, scopesWith } from '../kernel/values.ts';
import { type Database, onlyRow, type Queryable } from '../platform/postgres/database.ts';
import { advisoryLocks } from '../platform/postgres/locks.ts';
import { instantText, unseen } from '../platform/postgres/sql-text.ts';
import { kindOf } from './audit-queries.ts';
import type { ListedToken, Session, TokenRow } from './contract.ts';

/**
 * Whether a token, or a person, reaches only these tenants and stores, or stores in these tenants; null means all. The
 * column `tenants` has the names of stores as `TX/DFW`: see `Actor`.
 */
const isWithin = (names: Sql, reach: Sql) => sql`(${reach} is null or coalesce((
    select bool_and(name = any(${reach}) or split_part(name, '/', 1) = any(${reach})) from unnest(${names}) name
  ), ${names} is not null))`;
const ownWithin = (reach: readonly string[] | null) =>
  reach === null ? sql`true` : isWithin(raw('access_tokens.tenants'), sql`${[...reach]}::text[]`);

/** What a reader with this reach sees of a token: its creator only if the reader can list it, too. */
const columnsFor = (
  reach: readonly string[] | null,
) => sql`id, name, scopes, tenants, addresses, ${instantText('access_tokens.created_at')} as created_at,
  case when previous_ends_at > now() then ${instantText('previous_ends_at')} end as overlap_until,
  ${instantText('access_tokens.expires_at')} as expires_at, ${instantText('last_used_at')} as last_used_at,
  (select json_build_object('id', made.id, 'name', made.name) from access_tokens made
    where made.id = access_tokens.creator_id and (${reach}::text[] is null
      or made.revoked_at is null and ${isWithin(raw('made.tenants'), sql`${reach}::text[]`)})) as creator`;
const columns = columnsFor(null);

/** What is shown of a token, of which the database keeps tenants and stores as one list. */
function toTokenRow<Row extends Omit<TokenRow, 'stores'>>(row: Row) {
  return { ...row, ...reachOf(row.tenants) };
}

/** A token as it stands now, by the clock of the database. */
export type TokenState = Pick<
  TokenRow,
  'id' | 'name' | 'scopes' | 'tenants' | 'addresses' | 'expires_at'
> & {
  is_expired: boolean;
  is_revoked: boolean;
  is_use_stale: boolean;
  /** Whether a person made it. */
  is_of_person: boolean;
  /** For so many days that person has been in no session; null: no person made it. */
  absent_days: number | null;
  /** Whether it was found by the secret before the last rotation. */
  is_rotated_out?: boolean;
  /** By it a statement knows this row again, as `require_token` does; null where it could not, or must not. */
  version?: string | null;
};

const including = JSON.stringify(scopesWith);

/** Whether a token counts no more: what a person made counts only while they may do as much themselves. */
export function isRevoked(name: string): Sql {
  const token = raw(name);
  return sql`(${token}.revoked_at is not null or exists (
    select from access_tokens person where person.id = ${token}.person_id and (person.revoked_at is not null
      or not (person.scopes @> ${token}.scopes or 'admin' = any(person.scopes) or not exists (
        select from unnest(${token}.scopes) wanted where not person.scopes && array(
          select jsonb_array_elements_text(${including}::jsonb -> wanted))))
      or not ${isWithin(sql`${token}.tenants`, raw('person.tenants'))})))`;
}

/** For so many days the person who made a token has been in no session; null: no person made it. */
const absentDays = sql`(
    select floor(extract(epoch from now() - coalesce(person.last_used_at, person.created_at)) / 86400)::int
    from access_tokens person where person.id = access_tokens.person_id)`;

// This is read at every request, so it holds only what an actor is made of.
const state = sql`id, name, scopes, tenants, addresses, person_id is not null as is_of_person,
  ${absentDays} as absent_days,
  ${instantText('access_tokens.expires_at')} as expires_at,
  coalesce(access_tokens.expires_at <= now(), false) as is_expired,
  ${isRevoked('access_tokens')} as is_revoked,
  coalesce(last_used_at < now() - interval '1 minute', true) as is_use_stale`;

/**
 * The tokens with these hashes, in their order; undefined: none. They may be revoked or expired, so check. Only the current
 * secret of a token that no person made has a version: more than its own row tells whether another counts. So has none
 * whose use is to be noted, which changes the row; and none on a Citus cluster, whose workers have no tokens.
 */
export async function findTokensByHash(
  db: Queryable,
  hashes: readonly Buffer[],
): Promise<(TokenState | undefined)[]> {
  const given = unseen(hashes, 'bytea');
  const rows = await db.query<
    TokenState & { hash: Buffer; previous_hash: Buffer | null; is_overlap_over: boolean }
  >(sql`
    select hash, previous_hash, coalesce(previous_ends_at <= now(), true) as is_overlap_over, ${state},
      case when person_id is null and last_used_at >= now() - interval '1 minute'
        and to_regclass('pg_dist_partition') is null then xmin::text end as version
    from access_tokens where hash = any(${given}) or previous_hash = any(${given})`);
  return hashes.map((hash) => {
    const row = rows.find((each) => each.hash.equals(hash));
    if (row !== undefined) return row;
    const old = rows.find((each) => each.previous_hash?.equals(hash));
    if (old === undefined) return undefined;
    return {
      ...old,
      version: null,
      is_rotated_out: true,
      is_expired: old.is_expired || old.is_overlap_over,
    };
  });
}

export async function findTokenById(db: Queryable, id: string): Promise<TokenState | undefined> {
  const rows = await db.query<TokenState>(sql`select ${state} from access_tokens where id = ${id}`);
  return rows[0];
}

const isLive = sql`sessions.expires_at > now() and coalesce(sessions.idle_at > now(), true)`;

/** A session of a token. Nobody has said for a while that somebody is there, if `is_idle_stale`. */
type SessionState = TokenState & { confirmed_until: string | null; is_idle_stale: boolean };

/** The token that a live session stands for, and until when the session is confirmed; null: it is not. */
export async function findTokenBySession(
  db: Queryable,
  hash: Buffer,
): Promise<SessionState | undefined> {
  const rows = await db.query<SessionState>(sql`
    select ${state}, case when sessions.confirmed_until > now()
      then ${instantText('sessions.confirmed_until')} end as confirmed_until,
      sessions.idle_at is not null as is_idle_stale
    from access_tokens join sessions on sessions.token_id = access_tokens.id
    where sessions.hash = ${hash} and ${isLive}`);
  return rows[0];
}

/** Keeps a session open for so many seconds from now on, unless that was said less than half a minute ago. */
export async function keepSession(db: Queryable, hash: Buffer, seconds: number): Promise<void> {
  await db.query(sql`
    update sessions set idle_at = now() + make_interval(secs => ${seconds})
    where hash = ${hash} and idle_at < now() + make_interval(secs => ${seconds}) - interval '30 seconds'`);
}

/** Confirms a live session for so many seconds. Returns until when, or undefined when there is none. */
export async function confirmSession(
  db: Queryable,
  hash: Buffer,
  seconds: number,
): Promise<string | undefined> {
  const rows = await db.query<{ confirmed_until: string }>(sql`
    update sessions set confirmed_until = now() + make_interval(secs => ${seconds})
    where hash = ${hash} and ${isLive}
    returning ${instantText('confirmed_until')} as confirmed_until`);
  return rows[0]?.confirmed_until;
}

/** Opens a session and returns its id. Removes those that have ended: nothing else does, and they are few. */
export async function insertSession(
  db: Queryable,
  session: {
    hash: Buffer;
    tokenId: string;
    seconds: number;
    /** 0: it does not end because nobody does anything. */
    idleSeconds: number;
    idToken: string | null;
    address: string | null;
    userAgent: string | null;
  },
): Promise<string> {
  await db.query(sql`delete from sessions where not (${isLive})`);
  const id = newId('ses');
  const { idleSeconds } = session;
  await db.query(sql`
    insert into sessions (hash, token_id, expires_at, idle_at, id_token, session_id, address, user_agent)
    values (${session.hash}, ${session.tokenId}, now() + make_interval(secs => ${session.seconds}),
      case when ${idleSeconds}::int > 0 then now() + make_interval(secs => ${idleSeconds}) end, ${session.idToken},
      ${id}, ${session.address}, ${session.userAgent})`);
  return id;
}

/** Live sessions, newest first; with `reach`, of tokens limited to some of these tenants. `own`: the caller's hash. */
export async function listSessions(
  db: Queryable,
  { reach, own }: { reach: readonly string[] | null; own: Buffer | null },
): Promise<Session[]> {
  return db.query<Session>(sql`
    select session_id as id, json_build_object('kind', ${kindOf('token_id')}, 'token_id', token_id,
        'name', access_tokens.name) as actor,
      ${instantText('sessions.created_at')} as created_at, ${instantText('sessions.expires_at')} as expires_at,
      address, user_agent, coalesce(sessions.hash = ${own}, false) as is_current
    from sessions join access_tokens on access_tokens.id = token_id
    where ${isLive} and revoked_at is null
      and (access_tokens.expires_at is null or access_tokens.expires_at > now())
      and ${ownWithin(reach)}
    order by sessions.created_at desc, session_id limit 1000`);
}

/** Ends a session by its id, or all those of a token. Returns the ended ones, and of which tenants their tokens are. */
export async function endSessions(
  db: Queryable,
  { id, tokenId, reach }: { id?: string; tokenId?: string; reach: readonly string[] | null },
): Promise<{ id: string; token_id: string; tenants: string[] | null }[]> {
  const which = id === undefined ? sql`sessions.token_id = ${tokenId}` : sql`session_id = ${id}`;
  return db.query(sql`
    delete from sessions using access_tokens
    where access_tokens.id = sessions.token_id and ${which} and ${ownWithin(reach)}
    returning session_id as id, sessions.token_id, tenants`);
}

/** Returns what was kept of the session for its end; undefined when there was no such session. */
export async function deleteSession(
  db: Queryable,
  hash: Buffer,
): Promise<{ id_token: string | null } | undefined> {
  const rows = await db.query<{ id_token: string | null }>(
    sql`delete from sessions where hash = ${hash} returning id_token`,
  );
  return rows[0];
}

export async function insertSignInLink(
  db: Queryable,
  hash: Buffer,
  tokenId: string,
  seconds: number,
): Promise<void> {
  await db.query(sql`delete from sign_in_links where expires_at <= now()`);
  await db.query(sql`
    insert into sign_in_links (hash, token_id, expires_at)
    values (${hash}, ${tokenId}, now() + make_interval(secs => ${seconds}))`);
}

/** Uses a link up and returns the id of its token; undefined when there is no such link or it is too old. */
export async function takeSignInLink(db: Queryable, hash: Buffer): Promise<string | undefined> {
  const rows = await db.query<{ token_id: string; is_alive: boolean }>(sql`
    delete from sign_in_links where hash = ${hash}
    returning token_id, expires_at > now() as is_alive`);
  return rows[0]?.is_alive ? rows[0].token_id : undefined;
}

/** Returns the id of the oldest admin token that is valid and not limited to tenants. */
export async function findOldestAdminToken(db: Queryable): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(sql`
    select id from access_tokens
    where revoked_at is null and (expires_at is null or expires_at > now())
      and 'admin' = any(scopes) and tenants is null and issuer is null and person_id is null
    order by addresses is not null, created_at limit 1`);
  return rows[0]?.id;
}

export async function insertToken(
  db: Queryable,
  token: {
    id: string;
    hash: Buffer;
    name: string;
    scopes: readonly Scope[];
    tenants: readonly string[] | null;
    addresses: readonly string[] | null;
    expiresAt: string | null;
    creatorId: string | null;
  },
): Promise<TokenRow> {
  const rows = await db.query<TokenRow>(sql`
    insert into access_tokens (id, hash, name, scopes, tenants, addresses, expires_at, creator_id, person_id)
    values (${token.id}, ${token.hash}, ${token.name}, ${token.scopes}, ${token.tenants}, ${token.addresses}, ${token.expiresAt},
      ${token.creatorId}, (
        select case when maker.issuer is null then maker.person_id else maker.id end
        from access_tokens maker where maker.id = ${token.creatorId}))
    returning ${columns}`);
  return toTokenRow(onlyRow(rows));
}

/**
 * Returns the tokens that are not revoked. With `reach` only those that are limited to some of these tenants; null
 * lists all. With `unusedDays` only those that are valid, and were neither used nor made within so many days. What goes back
 * to a person who has not come for `vouchDays` is suspended; 0: it is not.
 */
export async function listLiveTokens(
  db: Queryable,
  how: { reach: readonly string[] | null; unusedDays: number | undefined; vouchDays: number },
): Promise<ListedToken[]> {
  const { reach, unusedDays, vouchDays } = how;
  const rows = await db.query<Omit<ListedToken, 'stores'>>(sql`
    select ${columnsFor(reach)}, ${isRevoked('access_tokens')}
      or coalesce(${vouchDays}::integer > 0 and ${absentDays} >= ${vouchDays}::integer, false) as is_suspended
    from access_tokens
    where revoked_at is null and issuer is null and ${ownWithin(reach)}
      and (${unusedDays ?? null}::integer is null or coalesce(expires_at > now(), true)
        and coalesce(last_used_at, created_at) < now() - make_interval(days => ${unusedDays ?? null}::integer))
    order by access_tokens.created_at desc, id`);
  return rows.map(toTokenRow);
}

/** Valid tokens that were neither used nor made within 90 days, those that were unused for longest first. */
export async function listUnusedTokens(db: Queryable): Promise<{ id: string; name: string }[]> {
  return db.query(sql`
    select id, name from access_tokens
    where issuer is null and not ${isRevoked('access_tokens')} and coalesce(expires_at > now(), true)
      and coalesce(last_used_at, created_at) < now() - interval '90 days'
    order by coalesce(last_used_at, created_at), id limit 20`);
}

/** Whether what a token made ends with it. */
const binds = (name: string) =>
  sql`(${raw(name)}.tenants is not null or ${raw(name)}.expires_at is not null or 'admin' <> all(${raw(name)}.scopes))`;

/**
 * Revokes a token and all tokens that must go with it: those that it made, those that these made and so on, except
 * below an admin that is neither limited to tenants nor expires. Returns the revoked tokens; none when there is no such
 * token within `reach` that is not yet revoked. Call it under `lockTokens`.
 */
export async function revokeToken(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<TokenRow[]> {
  const rows = await db.query<TokenRow>(sql`
    with recursive bound as (
      select id, ${binds('access_tokens')} as binds from access_tokens
      where id = ${id} and revoked_at is null and issuer is null and ${ownWithin(reach)}
      union all
      select made.id, ${binds('made')}
      from bound join access_tokens made on made.creator_id = bound.id where bound.binds
    )
    update access_tokens set revoked_at = now()
    where id in (select bound.id from bound) and revoked_at is null returning ${columns}`);
  return rows.map(toTokenRow);
}

/** A table `makers`: a token, the one that made it, the one that made that, and so on. */
const makersOf = (id: string) => sql`
  recursive makers as (
    select id, creator_id from access_tokens where id = ${id}
    union
    select maker.id, maker.creator_id from makers join access_tokens maker on maker.id = makers.creator_id
  )`;

/** Who stands at the beginning of the chain of makers of a token: a person, or a token that the machine made. */
export const rootOf = (id: string) => sql`(
  with ${makersOf(id)} select makers.id from makers
  where not exists (select from access_tokens maker where maker.id = makers.creator_id))`;

/**
 * Whether a token may be rotated by this one: by itself, by one that made it, or made one that did, and by one that nothing
 * limits. Whoever else has a secret of it would do more with it than by their own, or for longer. With `isOneOfTwo` only
 * within a chain of makers: by the secret of another one would confirm what one has asked for.
 */
export async function canRotate(
  db: Queryable,
  { byId, id, isOneOfTwo }: { byId: string; id: string; isOneOfTwo: boolean },
): Promise<boolean> {
  const rows = await db.query<{ can: boolean }>(sql`
    with ${makersOf(id)} select exists (select from makers where id = ${byId}) or exists (
      select from access_tokens where id = ${byId} and tenants is null and addresses is null
        and expires_at is null and issuer is null and person_id is null
        and (not ${isOneOfTwo} or ${rootOf(byId)} = ${rootOf(id)})) as can`);
  return onlyRow(rows).can;
}

/**
 * Gives a live token within `reach` another hash; the one before counts for so many seconds more. Its sessions and sign-in
 * links end, except the session with the hash `own`. Returns undefined when there is no such token. Call it under
 * `lockTokens`.
 */
export async function rotateToken(
  db: Queryable,
  id: string,
  how: { hash: Buffer; seconds: number; own: Buffer | null; reach: readonly string[] | null },
): Promise<TokenRow | undefined> {
  const { hash, seconds, own, reach } = how;
  const rows = await db.query<TokenRow>(sql`
    update access_tokens set hash = ${hash}, previous_hash = case when ${seconds} > 0 then hash end,
      previous_ends_at = case when ${seconds} > 0 then now() + make_interval(secs => ${seconds}) end
    where id = ${id} and issuer is null and not ${isRevoked('access_tokens')}
      and coalesce(expires_at > now(), true) and ${ownWithin(reach)}
    returning ${columnsFor(reach)}`);
  await db.query(
    sql`delete from sessions where token_id = ${id} and (${own}::bytea is null or hash <> ${own})`,
  );
  await db.query(sql`delete from sign_in_links where token_id = ${id}`);
  return rows.map(toTokenRow)[0];
}

/** Notes that a token is in use, at most once a minute, so that busy tokens do not cause a write for each request. */
export async function touchToken(db: Queryable, id: string): Promise<void> {
  await db.query(sql`
    update access_tokens set last_used_at = now()
    where id = ${id} and coalesce(last_used_at < now() - interval '1 minute', true)`);
}

export async function countTokens(db: Queryable): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`select count(*) as count from access_tokens`);
  return onlyRow(rows).count;
}

/** Lets one transaction at a time make or revoke tokens: one first token, and none by a token being revoked. */
export async function lockTokens(db: Queryable): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(${advisoryLocks.tokens})`);
}

/**
 * Waits until no statement is under way any more that found a token unchanged before this. Call it when what was done to
 * tokens is committed, and before that is answered; see `require_token`. Throws `query_timeout` for one that takes too long.
 */
export async function awaitTokenChecks(db: Database): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(${advisoryLocks.tokenChecks})`);
}

/** Returns the key of this name. The first process that asks stores `fresh`; all later ones get that same key. */
export async function findOrMakeSigningKey(
  db: Queryable,
  name: string,
  fresh: Buffer,
): Promise<Buffer> {
  await db.query(
    sql`insert into signing_keys (name, key) values (${name}, ${fresh}) on conflict (name) do nothing`,
  );
  const rows = await db.query<{ key: Buffer }>(
    sql`select key from signing_keys where name = ${name}`,
  );
  return onlyRow(rows).key;
}

import sql, { empty, join, type Sql } from 'sql-template-tag';
import type { Scope } from '../kernel/values.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { advisoryLocks } from '../platform/postgres/locks.ts';
import { instantText } from '../platform/postgres/sql-text.ts';

export type TokenRow = {
  id: string;
  name: string;
  scopes: Scope[];
  tenants: string[] | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  creator: { id: string; name: string } | null;
};

const columns = sql`id, name, scopes, tenants, ${instantText('access_tokens.created_at')} as created_at,
  ${instantText('access_tokens.expires_at')} as expires_at, ${instantText('last_used_at')} as last_used_at,
  (select json_build_object('id', made.id, 'name', made.name) from access_tokens made
    where made.id = access_tokens.creator_id) as creator`;

/** A token as it stands now. */
export type TokenState = Pick<TokenRow, 'id' | 'name' | 'scopes' | 'tenants' | 'expires_at'> & {
  is_expired: boolean;
  is_revoked: boolean;
  is_use_stale: boolean;
};

// Looked up at every request: only what an actor is made of.
const state = sql`id, name, scopes, tenants,
  ${instantText('access_tokens.expires_at')} as expires_at,
  coalesce(access_tokens.expires_at <= now(), false) as is_expired,
  revoked_at is not null as is_revoked,
  coalesce(last_used_at < now() - interval '1 minute', true) as is_use_stale`;

export async function findTokenByHash(
  db: Queryable,
  hash: Buffer,
): Promise<TokenState | undefined> {
  const rows = await db.query<TokenState>(
    sql`select ${state} from access_tokens where hash = ${hash}`,
  );
  return rows[0];
}

export async function findTokenById(db: Queryable, id: string): Promise<TokenState | undefined> {
  const rows = await db.query<TokenState>(sql`select ${state} from access_tokens where id = ${id}`);
  return rows[0];
}

/** The token that a live session stands for, and until when the session is confirmed if it is. */
export async function findTokenBySession(
  db: Queryable,
  hash: Buffer,
): Promise<(TokenState & { confirmed_until: string | null }) | undefined> {
  const rows = await db.query<TokenState & { confirmed_until: string | null }>(sql`
    select ${state}, case when sessions.confirmed_until > now()
      then ${instantText('sessions.confirmed_until')} end as confirmed_until
    from access_tokens join sessions on sessions.token_id = access_tokens.id
    where sessions.hash = ${hash} and sessions.expires_at > now()`);
  return rows[0];
}

/** Confirms a live session from now on; answers until when, or undefined if there is no such session. */
export async function confirmSession(
  db: Queryable,
  hash: Buffer,
  seconds: number,
): Promise<string | undefined> {
  const rows = await db.query<{ confirmed_until: string }>(sql`
    update sessions set confirmed_until = now() + make_interval(secs => ${seconds})
    where hash = ${hash} and expires_at > now()
    returning ${instantText('confirmed_until')} as confirmed_until`);
  return rows[0]?.confirmed_until;
}

/** Clears away what has ended, too: there are few, and nobody else does. */
export async function insertSession(
  db: Queryable,
  hash: Buffer,
  tokenId: string,
  seconds: number,
): Promise<void> {
  await db.query(sql`delete from sessions where expires_at <= now()`);
  await db.query(sql`
    insert into sessions (hash, token_id, expires_at)
    values (${hash}, ${tokenId}, now() + make_interval(secs => ${seconds}))`);
}

/** Answers whether there was one. */
export async function deleteSession(db: Queryable, hash: Buffer): Promise<boolean> {
  const rows = await db.query(sql`delete from sessions where hash = ${hash} returning token_id`);
  return rows.length > 0;
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

/** The token of a link, which is used up by this. */
export async function takeSignInLink(db: Queryable, hash: Buffer): Promise<string | undefined> {
  const rows = await db.query<{ token_id: string; is_alive: boolean }>(sql`
    delete from sign_in_links where hash = ${hash}
    returning token_id, expires_at > now() as is_alive`);
  return rows[0]?.is_alive ? rows[0].token_id : undefined;
}

export async function findOldestAdminToken(db: Queryable): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(sql`
    select id from access_tokens
    where revoked_at is null and (expires_at is null or expires_at > now())
      and 'admin' = any(scopes) and tenants is null
    order by created_at limit 1`);
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
    expiresAt: string | null;
    creatorId: string | null;
  },
): Promise<TokenRow | undefined> {
  const rows = await db.query<TokenRow>(sql`
    insert into access_tokens (id, hash, name, scopes, tenants, expires_at, creator_id)
    values (${token.id}, ${token.hash}, ${token.name}, ${token.scopes}, ${token.tenants}, ${token.expiresAt},
      ${token.creatorId})
    returning ${columns}`);
  return rows[0];
}

/** `reach`: only tokens limited to these tenants; null = all. */
export async function listLiveTokens(
  db: Queryable,
  reach: readonly string[] | null,
): Promise<TokenRow[]> {
  return db.query<TokenRow>(sql`
    select ${columns} from access_tokens
    where revoked_at is null and (${reach}::text[] is null or tenants <@ ${reach}::text[])
    order by access_tokens.created_at desc, id`);
}

/**
 * The token and all that are revoked with it: what it made, and what these made, unless the maker was
 * unlimited and without expiry. Empty if there is none such, not yet revoked. To be called under the lock.
 */
export async function revokeToken(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<TokenRow[]> {
  return db.query<TokenRow>(sql`
    with recursive bound as (
      select id, tenants is not null or expires_at is not null as binds from access_tokens
      where id = ${id} and revoked_at is null and (${reach}::text[] is null or tenants <@ ${reach}::text[])
      union all
      select made.id, made.tenants is not null or made.expires_at is not null
      from bound join access_tokens made on made.creator_id = bound.id where bound.binds
    )
    update access_tokens set revoked_at = now()
    where id in (select bound.id from bound) and revoked_at is null returning ${columns}`);
}

export async function touchToken(db: Queryable, id: string): Promise<void> {
  await db.query(sql`
    update access_tokens set last_used_at = now()
    where id = ${id} and coalesce(last_used_at < now() - interval '1 minute', true)`);
}

export async function countTokens(db: Queryable): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`select count(*) as count from access_tokens`);
  return rows[0]?.count ?? 0;
}

/**
 * Held until the end of the transaction: one at a time makes or revokes tokens, so that there is one first
 * token, and none is made by a token that is being revoked.
 */
export async function lockTokens(db: Queryable): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(${advisoryLocks.tokens})`);
}

/** The key of that name, made by the first process that asks. */
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
  if (rows[0] === undefined) throw new Error(`signing key ${name} vanished`);
  return rows[0].key;
}

/** An entry as it is written; `before` and `after` are JSON text. */
export type NewAuditRow = {
  /** Null: on the machine that holds the database settings. */
  tokenId: string | null;
  tokenName: string;
  action: string;
  target: string | null;
  tenant: string | null;
  tenants: readonly string[] | null;
  requestId: string | null;
  address: string | null;
  userAgent: string | null;
  before: string | null;
  after: string | null;
};

export async function insertAuditEntry(db: Queryable, entry: NewAuditRow): Promise<void> {
  await db.query(sql`
    insert into audit_log (token_id, token_name, action, target, tenant, tenants, request_id, address,
      user_agent, before, after)
    values (${entry.tokenId}, ${entry.tokenName}, ${entry.action}, ${entry.target}, ${entry.tenant},
      ${entry.tenants}, ${entry.requestId}, ${entry.address}, ${entry.userAgent}, ${entry.before}, ${entry.after})`);
}

/** The oldest first; answers how many, and the time of the last of them. */
export async function deleteOldAuditEntries(
  db: Queryable,
  { days, limit }: { days: number; limit: number },
): Promise<{ count: number; until: string | null }> {
  const rows = await db.query<{ count: number; until: string | null }>(sql`
    with gone as (
      delete from audit_log where id in (
        select id from audit_log where at < now() - make_interval(days => ${days})
        order by at, id limit ${limit})
      returning at
    ) select count(*) as count, ${instantText('max(at)')} as until from gone`);
  return rows[0] ?? { count: 0, until: null };
}

export type AuditRow = {
  id: string;
  at: string;
  token_id: string | null;
  token_name: string;
  action: string;
  target: string | null;
  tenant: string | null;
  tenants: string[] | null;
  request_id: string | null;
  address: string | null;
  user_agent: string | null;
  before: unknown;
  after: unknown;
};

export type AuditFilter = {
  tokenId?: string | undefined;
  /** Whole, or what it begins with: then it ends with a dot. */
  action?: string | undefined;
  tenant?: string | undefined;
  /** Days, inclusive. */
  from?: string | undefined;
  to?: string | undefined;
  /** Only entries of these tenants; null = all entries. */
  reach: readonly string[] | null;
};

/** The entries older than `after` (at and id of the last one seen), newest first. */
export async function listAuditEntries(
  db: Queryable,
  filter: AuditFilter,
  page: { after: readonly string[] | null; limit: number },
): Promise<AuditRow[]> {
  const conditions = auditConditions(filter);
  if (page.after !== null) {
    const [at, id] = page.after;
    conditions.push(sql`(audit_log.at, audit_log.id) < (${at}::timestamptz, ${id}::bigint)`);
  }
  const where = conditions.length === 0 ? empty : sql`where ${join(conditions, ' and ')}`;
  return db.query<AuditRow>(sql`
    select audit_log.id::text as id, ${instantText('audit_log.at')} as at, token_id, token_name, action,
      target, tenant, tenants, request_id, address, user_agent, before, after
    from audit_log ${where} order by audit_log.at desc, audit_log.id desc limit ${page.limit}`);
}

function auditConditions({ tokenId, action, tenant, from, to, reach }: AuditFilter): Sql[] {
  const conditions: Sql[] = [];
  if (tokenId !== undefined) conditions.push(sql`token_id = ${tokenId}`);
  if (action?.endsWith('.')) {
    // U+10FFFF is the last character in byte order.
    conditions.push(sql`action >= ${action} and action <= ${`${action}\u{10FFFF}`}`);
  } else if (action !== undefined) conditions.push(sql`action = ${action}`);
  // What an entry concerns beside the reader's tenants must not be found out by asking for it.
  const isForeign = tenant !== undefined && reach !== null && !reach.includes(tenant);
  if (isForeign) conditions.push(sql`false`);
  if (tenant !== undefined) conditions.push(concerns([tenant]));
  if (reach !== null) conditions.push(concerns(reach));
  if (from !== undefined) conditions.push(sql`audit_log.at >= ${`${from}T00:00:00Z`}`);
  if (to !== undefined) {
    conditions.push(sql`audit_log.at < (${to}::date + 1)::timestamp at time zone 'UTC'`);
  }
  return conditions;
}

function concerns(tenants: readonly string[]): Sql {
  return sql`(tenant = any(${tenants}) or audit_log.tenants && ${tenants}::text[])`;
}

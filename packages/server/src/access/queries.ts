import sql from 'sql-template-tag';
import type { Scope } from '../kernel/actor.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/instant-sql.ts';

export type TokenRow = {
  id: string;
  name: string;
  scopes: Scope[];
  tenants: string[] | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
};

const columns = sql`id, name, scopes, tenants, ${instantText('access_tokens.created_at')} as created_at,
  ${instantText('access_tokens.expires_at')} as expires_at, ${instantText('last_used_at')} as last_used_at`;

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

/** The token that a live session stands for. */
export async function findTokenBySession(
  db: Queryable,
  hash: Buffer,
): Promise<TokenState | undefined> {
  const rows = await db.query<TokenState>(sql`
    select ${state} from access_tokens where id = (
      select token_id from sessions where sessions.hash = ${hash} and sessions.expires_at > now()
    )`);
  return rows[0];
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

export async function deleteSession(db: Queryable, hash: Buffer): Promise<void> {
  await db.query(sql`delete from sessions where hash = ${hash}`);
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
  },
): Promise<TokenRow | undefined> {
  const rows = await db.query<TokenRow>(sql`
    insert into access_tokens (id, hash, name, scopes, tenants, expires_at)
    values (${token.id}, ${token.hash}, ${token.name}, ${token.scopes}, ${token.tenants}, ${token.expiresAt})
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

/** Whether there was such a token, not yet revoked. */
export async function revokeToken(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<boolean> {
  const rows = await db.query(sql`
    update access_tokens set revoked_at = now() where id = ${id} and revoked_at is null
      and (${reach}::text[] is null or tenants <@ ${reach}::text[]) returning id`);
  return rows.length === 1;
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

/** Held until the end of the transaction: one process at a time makes the first token. */
export async function lockFirstToken(db: Queryable): Promise<void> {
  await db.query(sql`select pg_advisory_xact_lock(7340117002)`);
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

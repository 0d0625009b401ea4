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

const columns = sql`id, name, scopes, tenants, ${instantText('created_at')} as created_at,
  ${instantText('expires_at')} as expires_at, ${instantText('last_used_at')} as last_used_at`;

export async function findTokenByHash(db: Queryable, hash: Buffer) {
  const rows = await db.query<
    TokenRow & { is_expired: boolean; is_revoked: boolean; is_use_stale: boolean }
  >(sql`
    select ${columns},
      coalesce(expires_at <= now(), false) as is_expired,
      revoked_at is not null as is_revoked,
      coalesce(last_used_at < now() - interval '1 minute', true) as is_use_stale
    from access_tokens where hash = ${hash}`);
  return rows[0];
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

import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { newId } from '../kernel/ids.ts';
import type { Scope } from '../kernel/values.ts';
import { onlyRow, type Queryable } from '../platform/postgres/database.ts';

/** Who a person is to the identity server that vouches for them. */
export type Vouched = { readonly issuer: string; readonly subject: string };

/** Notes what a person may do, and returns their id. Lets in again who was shut out, and their tokens within that. */
export async function letPersonIn(
  db: Queryable,
  person: Vouched & { name: string; scopes: readonly Scope[]; tenants: readonly string[] | null },
): Promise<string> {
  const { issuer, subject, name, scopes, tenants } = person;
  const rows = await db.query<{ id: string }>(sql`
    insert into access_tokens (id, hash, name, scopes, tenants, issuer, subject, last_used_at)
    values (${newId('usr')}, ${randomBytes(32)}, ${name}, ${scopes}, ${tenants}, ${issuer}, ${subject}, now())
    on conflict (issuer, subject) do update
      set name = excluded.name, scopes = excluded.scopes, tenants = excluded.tenants, revoked_at = null,
        last_used_at = excluded.last_used_at
    returning id`);
  return onlyRow(rows).id;
}

/** Shuts a person out: sessions end, tokens count no more. Returns their id, or undefined when they never signed in. */
export async function shutPersonOut(
  db: Queryable,
  { issuer, subject }: Vouched,
): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(sql`
    update access_tokens set revoked_at = coalesce(revoked_at, now())
    where issuer = ${issuer} and subject = ${subject} returning id`);
  const id = rows[0]?.id;
  if (id !== undefined) await db.query(sql`delete from sessions where token_id = ${id}`);
  return id;
}

/** Who has this id to the identity server; undefined when it is no person. */
export async function findVouched(db: Queryable, id: string): Promise<Vouched | undefined> {
  const rows = await db.query<Vouched>(
    sql`select issuer, subject from access_tokens where id = ${id} and issuer is not null`,
  );
  return rows[0];
}

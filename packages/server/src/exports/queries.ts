import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { ExportRequest } from './contract.ts';
import type { TypedSchema } from './jobs.contract.ts';
import type { ExportFormat } from './values.ts';

/**
 * Begins a transaction that sees one state for as long as an export takes. Without sorting the first row comes at once;
 * a sort was up to 20 % faster in the end, but its first row came only after seconds.
 */
export async function beginLongSnapshot(connection: Connection): Promise<void> {
  await connection.client.query(
    `begin isolation level repeatable read read only;
      set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
      set local tcp_user_timeout = 0; set local enable_sort = off`,
  );
}

/** Stores what a one-use link stands for and deletes links that have expired. Returns when it expires. */
export async function insertLink(
  db: Queryable,
  link: { hash: Buffer; tokenId: string; request: LinkRequest; seconds: number },
): Promise<string> {
  await db.query(sql`delete from export_links where expires_at <= now()`);
  const rows = await db.query<{ expires_at: string }>(sql`
    insert into export_links (hash, token_id, request, expires_at)
    values (${link.hash}, ${link.tokenId}, ${JSON.stringify(link.request)},
      now() + make_interval(secs => ${link.seconds}))
    returning ${instantText('expires_at')} as expires_at`);
  return rows[0]?.expires_at ?? '';
}

/** The body of an export, and its format. */
type LinkRequest = ExportRequest & { format: ExportFormat };

export type StoredLink = { token_id: string; request: LinkRequest };

/** Finds what a link stands for; undefined when it was used or has expired. */
export async function findLink(db: Queryable, hash: Buffer): Promise<StoredLink | undefined> {
  const rows = await db.query<StoredLink>(sql`
    select token_id, request from export_links where hash = ${hash} and expires_at > now()`);
  return rows[0];
}

/** Finds what a link stands for and deletes it, so that it works once; undefined when it was used or has expired. */
export async function takeLink(db: Queryable, hash: Buffer): Promise<StoredLink | undefined> {
  const rows = await db.query<StoredLink & { is_alive: boolean }>(sql`
    delete from export_links where hash = ${hash}
    returning token_id, request, expires_at > now() as is_alive`);
  return rows[0]?.is_alive ? rows[0] : undefined;
}

/** The columns that a version keeps for its typed exports; null before the first of them. */
export async function findVersionSchema(
  db: Queryable,
  { tenant, id }: { tenant: string; id: string },
): Promise<TypedSchema | null> {
  const rows = await db.query<{ typed_schema: TypedSchema | null }>(sql`
    select typed_schema from dataset_versions where tenant = ${tenant} and id = ${id}`);
  return rows[0]?.typed_schema ?? null;
}

/** Lets a version keep these columns, unless it has some. Returns those that it has. */
export async function keepVersionSchema(
  connection: Connection,
  { tenant, id }: { tenant: string; id: string },
  schema: TypedSchema,
): Promise<TypedSchema> {
  const rows = await connection.query<{ typed_schema: TypedSchema }>(sql`
    update dataset_versions set typed_schema = coalesce(typed_schema, ${JSON.stringify(schema)}::json)
    where tenant = ${tenant} and id = ${id} returning typed_schema`);
  return rows[0]?.typed_schema ?? schema;
}

import sql from 'sql-template-tag';
import type { Actor } from '../kernel/actor.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { advisoryLocks } from '../platform/postgres/locks.ts';
import { instantText } from '../platform/postgres/sql-text.ts';
import type { SavedView } from './saved-views.contract.ts';

type Caller = Pick<Actor, 'tokenId' | 'tenants'>;

const columns = (callerId: string) => sql`saved_views.name, address, is_shared as shared,
  owner_id = ${callerId} as own, json_build_object('id', owner_id, 'name', owner.name) as owner,
  ${instantText('updated_at')} as updated_at`;

/** A view that names no tenant may tell of any of them by its name and filters. */
const isSeenBy = ({ tokenId, tenants }: Caller) => sql`(owner_id = ${tokenId}
  or is_shared and (${tenants}::text[] is null or tenant = any(${tenants}::text[])))`;

/** The views of the caller, then those that others share with it. */
export function listSavedViews(db: Queryable, caller: Caller): Promise<SavedView[]> {
  return db.query<SavedView>(sql`
    select ${columns(caller.tokenId)} from saved_views join access_tokens owner on owner.id = owner_id
    where ${isSeenBy(caller)} order by own desc, saved_views.name, owner_id limit 500`);
}

/** Counts the views of the caller beside this one, for as long as no other call of it saves one. */
export async function countOtherViews(db: Queryable, ownerId: string, name: string) {
  await db.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.savedViews}, hashtext(${ownerId}))`,
  );
  const rows = await db.query<{ count: number }>(sql`
    select count(*)::int as count from saved_views where owner_id = ${ownerId} and name <> ${name}`);
  return rows[0]?.count ?? 0;
}

export async function hasSavedView(db: Queryable, ownerId: string, name: string) {
  const rows = await db.query(
    sql`select from saved_views where owner_id = ${ownerId} and name = ${name}`,
  );
  return rows.length > 0;
}

type ViewToSave = Pick<SavedView, 'name' | 'address' | 'shared'> & { tenant: string | null };

/** Stores a view in the place of the one that had this name; undefined when the caller is no token and no person. */
export async function storeSavedView(
  db: Queryable,
  ownerId: string,
  { name, address, shared, tenant }: ViewToSave,
): Promise<SavedView | undefined> {
  await db.query(sql`
    insert into saved_views (owner_id, name, address, tenant, is_shared)
    select id, ${name}, ${address}, ${tenant}, ${shared} from access_tokens where id = ${ownerId}
    on conflict (owner_id, name) do update set address = excluded.address, tenant = excluded.tenant,
      is_shared = excluded.is_shared, updated_at = now()`);
  const rows = await db.query<SavedView>(sql`
    select ${columns(ownerId)} from saved_views join access_tokens owner on owner.id = owner_id
    where owner_id = ${ownerId} and saved_views.name = ${name}`);
  return rows[0];
}

/** Deletes a view of this owner that the caller sees; undefined when there is none. */
export async function removeSavedView(
  db: Queryable,
  caller: Caller,
  { ownerId, name }: { ownerId: string; name: string },
): Promise<{ address: string; tenant: string | null } | undefined> {
  const rows = await db.query<{ address: string; tenant: string | null }>(sql`
    delete from saved_views where owner_id = ${ownerId} and name = ${name} and ${isSeenBy(caller)}
    returning address, tenant`);
  return rows[0];
}

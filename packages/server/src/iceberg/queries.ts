import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../platform/postgres/database.ts';
import { givenRows, instantText } from '../platform/postgres/sql-text.ts';
import type { ListedManifest } from './manifest.ts';
import type { SnapshotRow } from './metadata.ts';

/** Whose segments a table shows: `tenants` null means those of all. */
export type Scope = { readonly name: string; readonly tenants: readonly string[] | null };

/** A segment as it stands in a manifest. */
export type ToldFile = {
  readonly id: string;
  /** The snapshot that added it. */
  readonly since: number;
  readonly object_key: string;
  readonly size_bytes: number;
  readonly count: number;
  /** A decimal number. */
  readonly digest: string;
};

/** A manifest, with the key of its object. */
export type ManifestRow = ListedManifest & {
  readonly object_key: string;
  readonly fingerprint: string;
  readonly files: readonly ToldFile[];
};

/** The moment of a transaction, in microseconds since 1970. */
export async function readMoment(db: Queryable): Promise<number> {
  const [row] = await db.query<{ moment: number }>(
    sql`select (extract(epoch from now()) * 1000000)::bigint as moment`,
  );
  return row?.moment ?? 0;
}

/** Lists the tenants that have segments, with what tells one set of them from another. */
export async function listFingerprints(
  db: Queryable,
  { tenants }: Scope,
): Promise<{ tenant: string; fingerprint: string }[]> {
  return db.query(sql`
    select tenant, encode(sha256(convert_to(string_agg(id, ',' order by id), 'UTF8')), 'hex') as fingerprint
    from segments where ${tenants}::text[] is null or tenant = any(${tenants}::text[])
    group by tenant`);
}

/** A segment of the catalogue, and the bounds of its stores and times. */
export type CatalogueFile = Omit<ToldFile, 'since'> & {
  readonly tenant: string;
  readonly first_store: string | null;
  readonly last_store: string | null;
  /** In microseconds since 1970, as decimal text: those of far days do not fit a number. */
  readonly first_micros: string | null;
  readonly last_micros: string | null;
};

/** Lists the segments of these tenants. */
export async function listFiles(
  db: Queryable,
  tenants: readonly string[],
): Promise<CatalogueFile[]> {
  return db.query<CatalogueFile>(sql`
    select segment.tenant, segment.id, object_key, size_bytes, segment.count,
      segment.digest::text as digest, first_store, last_store, first_micros, last_micros
    from segments segment left join (
      select tenant, segment_id, min(store) as first_store, max(store) as last_store,
        (extract(epoch from min(first_at)) * 1000000)::bigint::text as first_micros,
        (extract(epoch from max(last_at)) * 1000000)::bigint::text as last_micros
      from segment_days where tenant = any(${tenants}) group by tenant, segment_id
    ) days on days.tenant = segment.tenant and days.segment_id = segment.id
    where segment.tenant = any(${tenants}) order by segment.tenant, segment.first_day, segment.id`);
}

/** The manifests of the newest snapshot, without their files. */
export async function listManifests(
  db: Queryable,
  { name }: Scope,
): Promise<Omit<ManifestRow, 'files'>[]> {
  return db.query(sql`
    select tenant, snapshot_id, object_key, size_bytes, oldest_id, fingerprint, counts from iceberg_manifests
    where scope = ${name} and until_id is null order by tenant`);
}

/** The files of the manifests of these tenants in the newest snapshot. */
export async function listToldFiles(
  db: Queryable,
  { name }: Scope,
  tenants: readonly string[],
): Promise<{ tenant: string; files: ToldFile[] }[]> {
  return db.query(sql`
    select tenant, files from iceberg_manifests
    where scope = ${name} and until_id is null and tenant = any(${tenants})`);
}

/** The snapshots whose objects are still kept, the newest first, so many at most. */
export async function listSnapshots(
  db: Queryable,
  { name }: Scope,
  limit: number,
): Promise<SnapshotRow[]> {
  return db.query<SnapshotRow>(sql`
    select id, parent_id, manifest_list, summary from iceberg_snapshots
    where scope = ${name} and (readable_until is null or readable_until > now())
    order by id desc limit ${limit}`);
}

/**
 * Adds a snapshot and its new manifests. Those of the same tenants, and those that hold nothing any more, end with it.
 * Returns false, and changes nothing, when its parent has another one already.
 */
export async function insertSnapshot(
  connection: Connection,
  { name }: Scope,
  snapshot: SnapshotRow & { manifests: readonly ManifestRow[] },
): Promise<boolean> {
  const { id, manifests } = snapshot;
  const inserted = await connection.query(sql`
    insert into iceberg_snapshots (scope, id, parent_id, manifest_list, summary)
    values (${name}, ${id}, ${snapshot.parent_id}, ${snapshot.manifest_list},
      ${JSON.stringify(snapshot.summary)}::json)
    on conflict do nothing returning id`);
  if (inserted.length === 0) return false;
  await connection.query(sql`
    update iceberg_manifests set until_id = ${id}
    where scope = ${name} and until_id is null
      and (fingerprint = '' or tenant = any(${manifests.map(({ tenant }) => tenant)}))`);
  await connection.query(sql`
    insert into iceberg_manifests (scope, tenant, snapshot_id, object_key, size_bytes, oldest_id,
      fingerprint, files, counts)
    select ${name}, tenant, snapshot_id, object_key, size_bytes, oldest_id, fingerprint, files, counts
    from json_to_recordset(${JSON.stringify(manifests)}::json) as given(tenant text, snapshot_id bigint,
      object_key text, size_bytes bigint, oldest_id bigint, fingerprint text, files json, counts json)`);
  return true;
}

/** When the first of these objects goes: now, where one is gone or nobody removes it in an order; null for none. */
export async function findFirstRemoval(
  db: Queryable,
  objects: readonly { tenant: string; object_key: string }[],
): Promise<string | null> {
  if (objects.length === 0) return null;
  const keys = objects.map(({ object_key }) => object_key);
  const tenants = [...new Set(objects.map(({ tenant }) => tenant))];
  const [row] = await db.query<{ at: string }>(sql`
    select ${instantText('at')} as at from (
      select case when count(*) = ${keys.length} then min(remove_after) else now() end as at
      from object_removals where tenant = any(${tenants}) and object_key = any(${keys})
    ) first`);
  return row?.at ?? null;
}

/** Says until when the snapshots before this one can be read: for the time of grace, or until a first object goes. */
export async function endSnapshots(
  connection: Connection,
  { name }: Scope,
  {
    before,
    graceSeconds,
    firstRemoval,
  }: { before: number; graceSeconds: number; firstRemoval: string | null },
): Promise<void> {
  await connection.query(sql`
    update iceberg_snapshots
    set readable_until = least(readable_until, now() + ${graceSeconds} * interval '1 second',
      ${firstRemoval}::timestamptz)
    where scope = ${name} and id < ${before}`);
}

/** Notes that somebody asks for the table, once an hour. */
export async function noteAsked(db: Queryable, { name }: Scope, id: number): Promise<void> {
  await db.query(sql`
    update iceberg_snapshots set asked_at = now()
    where scope = ${name} and id = ${id} and asked_at < now() - interval '1 hour'`);
}

/** Forgets what was told of a scope. */
export async function forgetScope(db: Queryable, { name }: Scope): Promise<void> {
  await db.query(sql`delete from iceberg_snapshots where scope = ${name}`);
  await db.query(sql`delete from iceberg_manifests where scope = ${name}`);
}

/** Forgets the snapshots that cannot be read any more, tables for which nobody asked for `days`, and their manifests. */
export async function forgetOld(db: Queryable, days: number): Promise<void> {
  await db.query(sql`
    delete from iceberg_snapshots snapshot
    where readable_until < now() or not exists (
      select from iceberg_snapshots newest where newest.scope = snapshot.scope
        and newest.asked_at > now() - ${days} * interval '1 day')`);
  await db.query(sql`
    delete from iceberg_manifests manifest where not exists (
      select from iceberg_snapshots snapshot where snapshot.scope = manifest.scope
        and snapshot.id >= manifest.snapshot_id
        and (manifest.until_id is null or snapshot.id < manifest.until_id))`);
}

/** Those of these objects that no snapshot needs. Metadata and lists have the id of their snapshot. */
export async function listUnneeded(
  db: Queryable,
  objects: readonly { key: string; scope: string; id: number }[],
): Promise<string[]> {
  const rows = await db.query<{ key: string }>(sql`
    select key from ${givenRows('given', objects, { key: 'text', scope: 'text', id: 'bigint' })}
    where not exists (select from iceberg_manifests where object_key = given.key)
      and not exists (select from iceberg_snapshots snapshot where snapshot.scope = given.scope
        and snapshot.id = given.id)`);
  return rows.map(({ key }) => key);
}

import sql, { type Sql } from 'sql-template-tag';
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
};

/** A manifest to be noted, and the snapshot with which it ends, if one does already. */
export type NewManifest = ManifestRow & {
  /** Empty when it has ended: nobody asks then. */
  readonly files: readonly ToldFile[];
  readonly until_id: number | null;
};

/** The time of a number of microseconds since 1970. */
const fromMicros = (micros: Sql): Sql =>
  sql`timestamptz 'epoch' + ${micros} * interval '1 microsecond'`;

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

/** Lists the segments of these tenants, and since when they are live, in microseconds since 1970. */
export async function listFiles(
  db: Queryable,
  tenants: readonly string[],
): Promise<(CatalogueFile & { born: number })[]> {
  return db.query(sql`
    select segment.tenant, segment.id, object_key, size_bytes, segment.count,
      segment.digest::text as digest, first_store, last_store, first_micros, last_micros,
      (extract(epoch from created_at) * 1000000)::bigint as born
    from segments segment left join (
      select tenant, segment_id, min(store) as first_store, max(store) as last_store,
        (extract(epoch from min(first_at)) * 1000000)::bigint::text as first_micros,
        (extract(epoch from max(last_at)) * 1000000)::bigint::text as last_micros
      from segment_days where tenant = any(${tenants}) group by tenant, segment_id
    ) days on days.tenant = segment.tenant and days.segment_id = segment.id
    where segment.tenant = any(${tenants}) order by segment.tenant, segment.first_day, segment.id`);
}

/** A move that changed the segments of a tenant, and when, in microseconds since 1970. */
export type Switch = { readonly tenant: string; readonly id: string; readonly at: number };

/** Lists the last switches since a time, the newest first. */
export async function listSwitches(
  db: Queryable,
  { tenants }: Scope,
  { since, limit }: { since: number; limit: number },
): Promise<Switch[]> {
  return db.query(sql`
    select tenant, id, (extract(epoch from switched_at) * 1000000)::bigint as at from moves move
    where switched_at > ${fromMicros(sql`${since}`)}
      and (${tenants}::text[] is null or tenant = any(${tenants}::text[])) and exists (
        select from move_segments segment where segment.tenant = move.tenant and segment.move_id = move.id)
    order by switched_at desc limit ${limit}`);
}

/**
 * Lists the segments that these moves replaced. `held` is null where nothing was noted; `is_kept` says whether the object
 * stays for a minute more at least, which none does that had erased records.
 */
export async function listReplaced(
  db: Queryable,
  moves: readonly Switch[],
): Promise<
  (Pick<CatalogueFile, 'tenant' | 'id' | 'object_key' | 'size_bytes'> & {
    move_id: string;
    held:
      | (Omit<CatalogueFile, 'tenant' | 'id' | 'object_key' | 'size_bytes'> & { born: number })
      | null;
    is_kept: boolean;
  })[]
> {
  const tenants = [...new Set(moves.map(({ tenant }) => tenant))];
  return db.query(sql`
    select segment.tenant, segment.move_id, segment_id as id, segment.object_key, size_bytes, held,
      coalesce(remove_after > now() + interval '1 minute', false) as is_kept
    from move_segments segment left join object_removals removal
      on removal.tenant = segment.tenant and removal.object_key = segment.object_key
    where segment.tenant = any(${tenants}) and segment.move_id = any(${moves.map(({ id }) => id)})
      and role = 'in'`);
}

/** The manifests of the newest snapshot, without their files. */
export async function listManifests(db: Queryable, { name }: Scope): Promise<ManifestRow[]> {
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
    select id, parent_id, manifest_list, summary,
      coalesce((extract(epoch from switched_at) * 1000000)::bigint, id) as at
    from iceberg_snapshots
    where scope = ${name} and (readable_until is null or readable_until > now())
    order by id desc limit ${limit}`);
}

/**
 * Adds snapshots that follow one another, the first first, and their new manifests; `ended` are those that end with one.
 * Returns false, and changes nothing, when the parent of the first has another one already.
 */
export async function insertSnapshots(
  connection: Connection,
  scope: Scope,
  {
    snapshots,
    manifests,
    ended,
  }: {
    snapshots: readonly SnapshotRow[];
    manifests: readonly NewManifest[];
    ended: readonly { tenant: string; until: number }[];
  },
): Promise<boolean> {
  if ((await insertRows(connection, scope, snapshots.slice(0, 1))) === 0) return false;
  await insertRows(connection, scope, snapshots.slice(1));
  await connection.query(sql`
    update iceberg_manifests manifest set until_id = ended.until
    from ${givenRows('ended', ended, { tenant: 'text', until: 'bigint' })}
    where scope = ${scope.name} and until_id is null and manifest.tenant = ended.tenant`);
  await connection.query(sql`
    insert into iceberg_manifests (scope, tenant, snapshot_id, until_id, object_key, size_bytes, oldest_id,
      fingerprint, files, counts)
    select ${scope.name}, tenant, snapshot_id, until_id, object_key, size_bytes, oldest_id, fingerprint, files,
      counts
    from json_to_recordset(${JSON.stringify(manifests)}::json) as given(tenant text, snapshot_id bigint,
      until_id bigint, object_key text, size_bytes bigint, oldest_id bigint, fingerprint text, files json,
      counts json)`);
  return true;
}

async function insertRows(
  connection: Connection,
  { name }: Scope,
  snapshots: readonly SnapshotRow[],
): Promise<number> {
  const inserted = await connection.query(sql`
    insert into iceberg_snapshots (scope, id, parent_id, manifest_list, summary, switched_at)
    select ${name}, id, parent_id, manifest_list, summary, ${fromMicros(sql`at`)}
    from json_to_recordset(${JSON.stringify(snapshots)}::json) as given(id bigint, parent_id bigint,
      manifest_list text, summary json, at bigint)
    on conflict do nothing returning id`);
  return inserted.length;
}

/** Lists when objects are removed, of those that are. */
export async function listRemovals(
  db: Queryable,
  objects: readonly { tenant: string; object_key: string }[],
): Promise<{ object_key: string; at: string }[]> {
  if (objects.length === 0) return [];
  const keys = objects.map(({ object_key }) => object_key);
  const tenants = [...new Set(objects.map(({ tenant }) => tenant))];
  return db.query(sql`
    select object_key, ${instantText('remove_after')} as at from object_removals
    where tenant = any(${tenants}) and object_key = any(${keys})`);
}

/**
 * Says until when the snapshots before the newest can be read: for the time of grace, or until the first object goes that
 * a later one has no more. `gone` has of each snapshot when the first object that it deletes is removed.
 */
export async function endSnapshots(
  connection: Connection,
  { name }: Scope,
  {
    newest,
    graceSeconds,
    gone,
  }: { newest: number; graceSeconds: number; gone: readonly { id: number; at: string }[] },
): Promise<void> {
  await connection.query(sql`
    update iceberg_snapshots snapshot
    set readable_until = least(readable_until, now() + ${graceSeconds} * interval '1 second', (
      select min(gone.at) from ${givenRows('gone', gone, { id: 'bigint', at: 'timestamptz' })}
      where gone.id > snapshot.id))
    where scope = ${name} and id < ${newest}`);
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

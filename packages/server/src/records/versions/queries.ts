import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/instant-sql.ts';
import { tenantConditions, where } from '../conditions/queries.ts';
import type { DatasetName } from '../contract.ts';
import type { DayWindow, KeyRange, TagWindows } from '../slice.ts';
import type { Shares, SplitName, Version } from '../versions.contract.ts';

/** A tag as it was when a version was frozen. */
export type FrozenTag = Version['slices'][number];

/** The tags of a tenant in the order they were made: a thousand at most. */
export async function listTags(
  db: Queryable,
  tenant: string,
): Promise<(FrozenTag & { dataset: DatasetName })[]> {
  return db.query(sql`
    select dataset, id as tag_id, store, first_day::text as "from", last_day::text as "to", note
    from tags where tenant = ${tenant} order by created_at, id`);
}

export async function hasName(db: Queryable, tenant: string, name: string): Promise<boolean> {
  const rows = await db.query(
    sql`select id from dataset_versions where tenant = ${tenant} and name = ${name}`,
  );
  return rows.length > 0;
}

/** A version as it is stored. Digests are decimal text. */
export type StoredVersion = {
  tenant: string;
  id: string;
  dataset: DatasetName;
  name: string;
  note: string | null;
  train_share: number | null;
  validation_share: number | null;
  test_share: number | null;
  slices: FrozenTag[];
  recorded_before: string;
  count: number;
  bytes: number;
  digest: string;
  state: Version['state'];
  current_count: number | null;
  current_bytes: number | null;
  current_digest: string | null;
  splits: Record<SplitName, { count: number; digest: string }> | null;
  changed_at: string | null;
  change: Version['change'];
  error: string | null;
  created_at: string;
  created_by: string;
};

const columns = sql`tenant, id, dataset, name, note, train_share, validation_share, test_share, slices,
  ${instantText('dataset_versions.recorded_before')} as recorded_before, count, bytes,
  digest::text as digest, state, current_count, current_bytes, current_digest::text as current_digest,
  splits, ${instantText('dataset_versions.changed_at')} as changed_at, change, error,
  ${instantText('dataset_versions.created_at')} as created_at, created_by`;

export type NewVersion = {
  tenant: string;
  id: string;
  dataset: DatasetName;
  name: string;
  note: string | null;
  shares: Shares | null;
  slices: readonly FrozenTag[];
  tags: TagWindows;
  recordedBefore: string;
  triple: { count: number; bytes: number; digest: string };
  parts: readonly KeyRange[];
  createdBy: string;
};

/** Undefined when the tenant has a version of this name. */
export async function insertVersion(
  connection: Connection,
  version: NewVersion,
): Promise<StoredVersion | undefined> {
  const { shares, triple } = version;
  const rows = await connection.query<StoredVersion>(sql`
    insert into dataset_versions (tenant, id, dataset, name, note, train_share, validation_share,
      test_share, slices, tags, recorded_before, count, bytes, digest, parts, created_by)
    values (${version.tenant}, ${version.id}, ${version.dataset}, ${version.name}, ${version.note},
      ${shares?.train ?? null}, ${shares?.validation ?? null}, ${shares?.test ?? null},
      ${JSON.stringify(version.slices)}::json, ${JSON.stringify(version.tags)}::json,
      ${version.recordedBefore}::timestamptz, ${triple.count}, ${triple.bytes},
      ${triple.digest}::numeric, ${JSON.stringify(version.parts)}::json, ${version.createdBy})
    on conflict (tenant, name) do nothing
    returning ${columns}`);
  return rows[0];
}

export async function insertWindows(
  connection: Connection,
  version: { tenant: string; id: string },
  windows: readonly DayWindow[],
): Promise<void> {
  await connection.query(sql`
    insert into dataset_version_windows (tenant, version_id, ordinal, store, first_day, until)
    select ${version.tenant}, ${version.id}, ordinal, store, first_day, until
    from unnest(${windows.map(({ store }) => store)}::text[],
      ${windows.map(({ from }) => from)}::date[], ${windows.map(({ until }) => until)}::date[])
      with ordinality as given(store, first_day, until, ordinal)`);
}

/** The latest first. */
export async function listVersions(
  db: Queryable,
  filter: {
    tenant?: string | undefined;
    dataset?: DatasetName | undefined;
    tenants: readonly string[] | null;
  },
  page: { after: readonly string[] | null; limit: number },
): Promise<StoredVersion[]> {
  const conditions: Sql[] = tenantConditions(filter);
  if (filter.dataset !== undefined) conditions.push(sql`dataset = ${filter.dataset}`);
  if (page.after !== null) {
    const [createdAt, id] = page.after;
    conditions.push(sql`(dataset_versions.created_at, id) < (${createdAt}::timestamptz, ${id})`);
  }
  return db.query<StoredVersion>(sql`
    select ${columns} from dataset_versions ${where(conditions)}
    order by dataset_versions.created_at desc, id desc limit ${raw(String(page.limit))}`);
}

export async function findVersion(
  db: Queryable,
  id: string,
  tenants: readonly string[] | null,
): Promise<StoredVersion | undefined> {
  const rows = await db.query<StoredVersion>(
    sql`select ${columns} from dataset_versions where ${join(ofId(id, tenants), ' and ')}`,
  );
  return rows[0];
}

/** Answers what it was. */
export async function deleteVersion(
  connection: Connection,
  id: string,
  tenants: readonly string[] | null,
): Promise<StoredVersion | undefined> {
  const rows = await connection.query<StoredVersion>(sql`
    with gone as (
      delete from dataset_versions where ${join(ofId(id, tenants), ' and ')} returning *
    ), windows as (
      delete from dataset_version_windows own using gone
      where own.tenant = gone.tenant and own.version_id = gone.id
    ) select ${columns} from gone as dataset_versions`);
  return rows[0];
}

function ofId(id: string, tenants: readonly string[] | null): Sql[] {
  return [sql`id = ${id}`, ...tenantConditions({ tenants })];
}

import sql, { join, raw, type Sql } from 'sql-template-tag';
import { isOfTenants, type ListedTable } from '../../platform/jobs/listed-queries.ts';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import { digestSum } from '../segments/queries.ts';
import { emptyTriple, type Triple } from '../segments/segment.ts';
import {
  fromRecords,
  ownGroupSql,
  splitSql,
  tenantConditions,
  unnestWindows,
  where,
} from '../slice/queries.ts';
import {
  beyondLastDay,
  type DayWindow,
  firstDay,
  isSplit,
  type KeyRange,
  type Slice,
  type TagWindows,
} from '../slice/slice.ts';
import type { DatasetName } from '../values.ts';
import type { Difference, Shares, Version } from '../versions.contract.ts';

/** A tag as it was when the version was frozen. */
type FrozenTag = Version['slices'][number];

/** Returns the tags of a dataset in the order in which they were made: at most a thousand. */
export async function listTags(
  db: Queryable,
  { tenant, dataset }: { tenant: string; dataset: DatasetName },
): Promise<FrozenTag[]> {
  return db.query(sql`
    select id as tag_id, store, first_day::text as "from", last_day::text as "to", note
    from tags where tenant = ${tenant} and dataset = ${dataset} order by created_at, id`);
}

export async function hasName(db: Queryable, tenant: string, name: string): Promise<boolean> {
  const rows = await db.query(
    sql`select id from dataset_versions where tenant = ${tenant} and name = ${name}`,
  );
  return rows.length > 0;
}

/** The columns of the shares, which are null without shares. */
export type SharesRow = 'train_share' | 'validation_share' | 'test_share';

/** A version as it is stored. Digests are decimal text. */
export type StoredVersion = Pick<Version, 'tenant' | 'id' | 'dataset' | 'name' | 'note'> &
  Pick<Version, 'group_by' | 'recorded_before' | 'state' | 'splits' | 'ungrouped' | 'error'> &
  Pick<Version, 'change' | 'changed_at' | 'created_at' | 'created_by'> &
  Record<SharesRow, number | null> &
  Triple & {
    where_text: string | null;
    /** False while count, bytes and digest are not known, and 0. */
    is_counted: boolean;
    slices: FrozenTag[];
    current_count: number | null;
    current_bytes: number | null;
    current_digest: string | null;
  };

const columns = sql`tenant, id, dataset, name, note, train_share, validation_share, test_share, group_by, where_text,
  is_counted, slices, ${instantText('dataset_versions.recorded_before')} as recorded_before, count, bytes, digest::text as digest, state,
  current_count, current_bytes, current_digest::text as current_digest,
  splits, ungrouped, ${instantText('dataset_versions.changed_at')} as changed_at, change, error,
  ${instantText('dataset_versions.created_at')} as created_at, created_by`;

/** Where the list of all jobs finds the countings of versions. */
export const listedVersions: ListedTable = {
  name: 'dataset_versions',
  isInReach: isOfTenants,
  requestedBy: raw('j.created_by'),
  state: sql`case j.state when 'counting' then 'running' when 'ready' then 'completed' else j.state end`,
  requestedAt: 'created_at',
  startedAt: null,
  finishedAt: null,
  done: raw('null'),
  total: raw('null'),
  error: raw('j.error'),
  told: sql`json_build_object('name', j.name, 'dataset', j.dataset,
    'count', case when j.is_counted then j.count end)`,
};

export type NewVersion = {
  tenant: string;
  id: string;
  dataset: DatasetName;
  name: string;
  note: string | null;
  shares: Shares | null;
  groupBy: string | null;
  where: string | null;
  slices: readonly FrozenTag[];
  tags: TagWindows;
  recordedBefore: string;
  /** Null where only counting its records can tell. */
  triple: Triple | null;
  parts: readonly KeyRange[];
  createdBy: string;
};

/** Inserts a version. Returns undefined when the tenant already has one of this name. */
export async function insertVersion(
  connection: Connection,
  version: NewVersion,
): Promise<StoredVersion | undefined> {
  const { shares } = version;
  const { count, bytes, digest } = version.triple ?? emptyTriple;
  const rows = await connection.query<StoredVersion>(sql`
    with dataset_versions as (
      insert into dataset_versions (tenant, id, dataset, name, note, train_share, validation_share,
        test_share, group_by, where_text, slices, tags, recorded_before, count, bytes, digest, is_counted,
        parts, created_by)
      values (${version.tenant}, ${version.id}, ${version.dataset}, ${version.name}, ${version.note},
        ${shares?.train ?? null}, ${shares?.validation ?? null}, ${shares?.test ?? null}, ${version.groupBy},
        ${version.where}, ${JSON.stringify(version.slices)}::json, ${JSON.stringify(version.tags)}::json,
        ${version.recordedBefore}::timestamptz, ${count}, ${bytes},
        ${digest}::numeric, ${version.triple !== null}, ${JSON.stringify(version.parts)}::json, ${version.createdBy})
      on conflict (tenant, name) do nothing
      returning *
    ) select ${columns} from dataset_versions`);
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
    from ${unnestWindows(windows)} with ordinality as given(store, first_day, until, ordinal)`);
}

/** Returns the versions that a filter selects, the latest first. */
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

/** Returns the version with this id; undefined when there is none, or not of these tenants. */
export async function findVersion(
  db: Queryable,
  id: string,
  reach: Reach,
): Promise<StoredVersion | undefined> {
  const rows = await db.query<StoredVersion>(
    sql`select ${columns} from dataset_versions where ${join(ofId(id, reach), ' and ')}`,
  );
  return rows[0];
}

/** Deletes a version and its windows. Returns what it was; undefined when there was none. */
export async function deleteVersion(
  connection: Connection,
  id: string,
  reach: Reach,
): Promise<StoredVersion | undefined> {
  const rows = await connection.query<StoredVersion>(sql`
    with gone as (
      delete from dataset_versions where ${join(ofId(id, reach), ' and ')} returning *
    ), windows as (
      delete from dataset_version_windows own using gone
      where own.tenant = gone.tenant and own.version_id = gone.id
    ) select ${columns} from gone as dataset_versions`);
  return rows[0];
}

/** The tenant whose version it must be, if it is known, and those that the caller may see; null means all. */
export type Reach = { tenant?: string; tenants: readonly string[] | null };

function ofId(id: string, reach: Reach): Sql[] {
  return [sql`id = ${id}`, ...tenantConditions(reach)];
}

/** A version that is to be counted. Digests are decimal text. */
export type CountingVersion = Triple & {
  tenant: string;
  id: string;
  /** False until it is counted for the first time, where only that can tell what it has. */
  is_counted: boolean;
  change: Version['change'];
  /** The time of the last change. If it differs after a count, the version changed while it was counted. */
  changed_at: string | null;
};

/** Returns the oldest version that is to be counted and is not one of `except`. */
export async function findCounting(
  db: Queryable,
  except: readonly string[],
): Promise<CountingVersion | undefined> {
  const rows = await db.query<CountingVersion>(sql`
    select tenant, id, count, bytes, digest::text as digest, is_counted, change,
      ${instantText('dataset_versions.changed_at')} as changed_at
    from dataset_versions where state = 'counting' and id <> all(${except}::text[])
    order by created_at, id limit 1`);
  return rows[0];
}

/** `ungrouped`: how many of them are a group by themselves. */
export type SplitSum = Triple & { split: string; ungrouped: number };

/** Sums the hot records of a slice by split, computed from content. Without shares the split is the empty text. */
export async function sumHotContent(db: Queryable, slice: Slice): Promise<SplitSum[]> {
  const split: Sql = isSplit(slice) ? splitSql(slice) : sql`''`;
  return db.query<SplitSum>(
    sql`
    select split, count(*) as count, count(*) filter (where is_own) as ungrouped,
      sum(bytes)::bigint as bytes, ${digestSum}::text as digest
    from (
      select ${split} as split, ${ownGroupSql(slice)} is null as is_own, bytes, record_digest(tenant, store, occurred_at, event_id, kind, source,
        model, confidence, enrichment)::numeric as digest
      ${fromRecords({ ...slice, split: undefined })}
    ) own group by split`,
    { isPlannedAnew: slice.where !== undefined || slice.groupBy !== undefined },
  );
}

/** Counts the hot records of a slice. */
export async function countHotRecords(db: Queryable, slice: Slice): Promise<number> {
  const rows = await db.query<{ count: number }>(
    sql`select count(*) as count ${fromRecords(slice)}`,
    { isPlannedAnew: true },
  );
  return rows[0]?.count ?? 0;
}

/** Returns the keys of the first hot records of a slice. */
export async function listFirstRecords(
  db: Queryable,
  slice: Slice,
  limit: number,
): Promise<Difference['records']> {
  return db.query(
    sql`select store, ${instantText('occurred_at')} as occurred_at, event_id
      ${fromRecords(slice)} order by enrichment_records.store, enrichment_records.occurred_at,
        enrichment_records.event_id limit ${limit}`,
    { isPlannedAnew: true },
  );
}

export type Counted = {
  triple: Triple;
  splits: Readonly<Record<string, { count: number; digest: string }>> | null;
  /** How many records are in no group; null where there are no groups. */
  ungrouped: number | null;
};

/**
 * Ends a counting; the first says what the version has. False, and nothing changes, when records went meanwhile. One
 * that lost nothing is no longer marked as changed, but keeps the time at the first count, by which comparisons notice.
 */
export async function setCounted(
  db: Queryable,
  version: CountingVersion,
  { triple, splits, ungrouped }: Counted,
  error: string | null,
): Promise<boolean> {
  const found = sql`${triple.count}::bigint, ${triple.bytes}::bigint, ${triple.digest}::numeric`;
  const isWhole = sql`(not is_counted or (count, bytes, digest) = (${found}))`;
  const rows = await db.query(sql`
    update dataset_versions set state = case when ${error}::text is null then 'ready' else 'failed' end,
      error = ${error}, (current_count, current_bytes, current_digest) = row(${found}),
      count = case when is_counted then count else ${triple.count} end,
      bytes = case when is_counted then bytes else ${triple.bytes} end,
      digest = case when is_counted then digest else ${triple.digest}::numeric end, is_counted = true,
      splits = ${splits === null ? null : JSON.stringify(splits)}::json, ungrouped = ${ungrouped},
      change = case when not ${isWhole} then change end,
      changed_at = case when not is_counted or not ${isWhole} then changed_at end
    where ${unchanged(version)} returning id`);
  return rows.length === 1;
}

/** Notes why a version cannot be counted at the moment. */
export async function setTrouble(
  db: Queryable,
  version: CountingVersion,
  error: string,
): Promise<void> {
  await db.query(sql`update dataset_versions set error = ${error} where ${unchanged(version)}`);
}

function unchanged({ tenant, id, changed_at }: CountingVersion): Sql {
  return sql`tenant = ${tenant} and id = ${id} and state = 'counting'
    and changed_at is not distinct from ${changed_at}::timestamptz`;
}

/** What says which records a version has. */
type FrozenSlice = Pick<StoredVersion, 'tenant' | 'id' | 'name' | 'dataset' | 'changed_at'> &
  Pick<StoredVersion, 'group_by' | 'where_text' | 'recorded_before' | SharesRow> & {
    tags: TagWindows;
    parts: KeyRange[];
  };

/** Says which records the version with this id has; undefined when there is none, or not of these tenants. */
export async function findFrozenSlice(
  db: Queryable,
  id: string,
  reach: Reach,
): Promise<FrozenSlice | undefined> {
  const rows = await db.query<FrozenSlice>(sql`
    select tenant, id, name, dataset, train_share, validation_share, test_share, group_by, where_text, tags,
      ${instantText('recorded_before')} as recorded_before, ${instantText('changed_at')} as changed_at, parts
    from dataset_versions where ${join(ofId(id, reach), ' and ')}`);
  return rows[0];
}

/** Returns the windows of all versions of a tenant; those of a version stand together. */
export async function listVersionWindows(
  connection: Connection,
  tenant: string,
): Promise<(DayWindow & { version_id: string; name: string })[]> {
  return connection.query(sql`
    select w.version_id, v.name, w.store, w.first_day::text as "from", w.until::text as until
    from dataset_version_windows w join dataset_versions v on v.tenant = w.tenant and v.id = w.version_id
    where w.tenant = ${tenant} order by w.version_id, w.ordinal`);
}

/** Has versions counted again, and notes why. */
export async function setChanged(
  connection: Connection,
  versions: { tenant: string; ids: readonly string[] },
  change: NonNullable<Version['change']>,
): Promise<void> {
  await connection.query(sql`
    with clock as materialized (select clock_timestamp() as now)
    update dataset_versions set state = 'counting', change = ${change}, changed_at = clock.now, error = null
    from clock where tenant = ${versions.tenant} and id = any(${versions.ids}::text[])`);
}

export async function deleteVersions(
  connection: Connection,
  { tenant, ids }: { tenant: string; ids: readonly string[] },
): Promise<void> {
  await connection.query(sql`
    with gone as (
      delete from dataset_version_windows
      where tenant = ${tenant} and version_id = any(${ids}::text[])
    )
    delete from dataset_versions where tenant = ${tenant} and id = any(${ids}::text[])`);
}

/** Deletes the tags whose days all lie in a window. Returns how many there were. */
export async function deleteTagsWithin(
  connection: Connection,
  tenant: string,
  { store, from, until }: DayWindow,
): Promise<number> {
  const rows = await connection.query(sql`
    delete from tags where tenant = ${tenant} and (${store}::text is null or store = ${store})
      and greatest(first_day, ${firstDay}::date) >= ${from}::date
      and coalesce(least(last_day, ${beyondLastDay}::date - 1) + 1, ${beyondLastDay}::date) <= ${until}::date
    returning id`);
  return rows.length;
}

/** Counts the versions that are being counted, or wait for it, for the metrics. An index has only these. */
export async function countCounting(
  db: Queryable,
): Promise<{ count: number; age_seconds: number }> {
  const rows = await db.query<{ count: number; age_seconds: number }>(sql`
    select count(*) as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age_seconds
    from dataset_versions where state = 'counting'`);
  return rows[0] ?? { count: 0, age_seconds: 0 };
}

import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { instantText } from '../../../platform/postgres/instant-sql.ts';
import { advisoryLocks } from '../../../platform/postgres/locks.ts';
import { dayConditions, recordConditions, splitSql, where } from '../../conditions/queries.ts';
import type { Slice } from '../../slice.ts';
import type { Segment } from '../../tiers/queries.ts';
import type { Version } from '../../versions.contract.ts';

/** A version that is to be counted. Digests are decimal text. */
export type CountingVersion = {
  tenant: string;
  id: string;
  count: number;
  bytes: number;
  digest: string;
  change: Version['change'];
  /** By it a count is known to be outrun by a change. */
  changed_at: string | null;
};

/** Whether the lock was free and is this session's now. */
export async function lockCounting(session: Queryable): Promise<boolean> {
  const rows = await session.query<{ is_locked: boolean }>(
    sql`select pg_try_advisory_lock(${advisoryLocks.versionCounts}) as is_locked`,
  );
  return rows[0]?.is_locked ?? false;
}

/** The oldest that is to be counted, but none of these. */
export async function findCounting(
  db: Queryable,
  except: readonly string[],
): Promise<CountingVersion | undefined> {
  const rows = await db.query<CountingVersion>(sql`
    select tenant, id, count, bytes, digest::text as digest, change,
      ${instantText('dataset_versions.changed_at')} as changed_at
    from dataset_versions where state = 'counting' and id <> all(${except}::text[])
    order by created_at, id limit 1`);
  return rows[0];
}

export type SplitSum = { split: string; count: number; bytes: number; digest: string };

/** Hot records of a slice, computed from content, by split; without shares the split is empty. */
export async function sumHotContent(db: Queryable, slice: Slice): Promise<SplitSum[]> {
  const split: Sql = slice.shares === undefined ? sql`''` : splitSql(slice.shares);
  return db.query<SplitSum>(sql`
    select split, count(*) as count, sum(bytes)::bigint as bytes,
      mod(mod(sum(digest), 18446744073709551616) + 18446744073709551616, 18446744073709551616)::text
        as digest
    from (
      select ${split} as split, bytes, record_digest(tenant, store, occurred_at, event_id, kind, source,
        model, confidence, enrichment)::numeric as digest
      from enrichment_records ${where(recordConditions({ ...slice, split: undefined }))}
    ) own group by split`);
}

/** The live segments that have records on days of the slice. */
export async function listSegmentsWith(db: Queryable, slice: Slice): Promise<Segment[]> {
  return db.query<Segment>(sql`
    select tenant, id as segment_id, object_key, size_bytes, sha256, first_day::text as first_day,
      last_day::text as last_day
    from segments where tenant = ${slice.tenant} and id in (
      select segment_id from segment_days ${where(dayConditions(slice))}
    ) order by segments.first_day, id`);
}

export type Counted = {
  triple: { count: number; bytes: number; digest: string };
  splits: Readonly<Record<string, { count: number; digest: string }>> | null;
};

/**
 * Ends the counting of a version; false when records of it went since it was read. What has lost nothing
 * after all has not changed.
 */
export async function setCounted(
  db: Queryable,
  version: CountingVersion,
  { triple, splits }: Counted,
  error: string | null,
): Promise<boolean> {
  const isWhole = sql`(count, bytes, digest) = (${triple.count}::bigint, ${triple.bytes}::bigint,
    ${triple.digest}::numeric)`;
  const rows = await db.query(sql`
    update dataset_versions set state = case when ${error}::text is null then 'ready' else 'failed' end,
      error = ${error}, current_count = ${triple.count}, current_bytes = ${triple.bytes},
      current_digest = ${triple.digest}::numeric,
      splits = ${splits === null ? null : JSON.stringify(splits)}::json,
      change = case when not ${isWhole} then change end,
      changed_at = case when not ${isWhole} then changed_at end
    where ${unchanged(version)} returning id`);
  return rows.length === 1;
}

/** Says why a version cannot be counted at the moment. */
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

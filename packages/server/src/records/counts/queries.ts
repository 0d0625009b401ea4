import sql, { raw, type Sql } from 'sql-template-tag';
import type { WorkRow } from '../../platform/http/schemas.contract.ts';
import {
  isOfTenants,
  isOfTenantsOrStores,
  type ListedTable,
} from '../../platform/jobs/listed-queries.ts';
import type { StateRow } from '../../platform/metrics/figures.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { CountJob } from '../count.contract.ts';
import type { StoreDay } from '../segments/segment.ts';
import type { Named } from '../versions/note-gone-records.ts';
import type { PinnedSlice } from '../versions/pin-slice.ts';

/** A count as it is stored. */
export type StoredCount = Omit<CountJob, 'recorded_before'> & {
  readonly slice: PinnedSlice['slice'];
  readonly after: StoreDay | null;
  readonly token_id: string;
};

const state = sql`case when j.state = 'running' and j.error is not null then 'waiting' else j.state end`;
// Days may get more records meanwhile, which are looked at too.
const total = sql`greatest(j.total, j.looked)`;
const columns = sql`j.id, j.tenant, ${state} as state, j.request, j.slice, j.count, j.bytes, j.looked, ${total} as total, j.error,
  case when j.after_day is not null
    then json_build_object('store', j.after_store, 'day', j.after_day) end as after,
  j.token_id, j.requested_by, ${instantText('j.requested_at')} as requested_at,
  ${instantText('j.started_at')} as started_at, ${instantText('j.finished_at')} as finished_at`;

/** Where the list of all jobs finds counts. */
export const listedCounts: ListedTable = {
  name: 'record_counts',
  isInReach: isOfTenantsOrStores,
  requestedBy: raw('j.requested_by'),
  state,
  requestedAt: 'requested_at',
  startedAt: 'started_at',
  finishedAt: 'finished_at',
  done: raw('j.looked'),
  total,
  error: raw('j.error'),
  told: sql`json_build_object('count', j.count)`,
};

/** Queues a count, unless the token has `most` that have not ended: undefined. */
export async function insertCount(
  db: Queryable,
  job: Pick<StoredCount, 'id' | 'request' | 'slice' | 'total' | 'requested_by' | 'token_id'>,
  most: number,
): Promise<StoredCount | undefined> {
  const rows = await db.query<StoredCount>(sql`
    with j as (
      insert into record_counts (tenant, id, request, slice, total, requested_by, token_id)
      select ${job.slice.tenant}, ${job.id}, ${JSON.stringify(job.request)}::json, ${JSON.stringify(job.slice)}::json,
        ${job.total}::bigint, ${job.requested_by}, ${job.token_id}
      where ${most} > (select count(*) from record_counts where finished_at is null and token_id = ${job.token_id})
      returning *
    ) select ${columns} from j`);
  return rows[0];
}

/** Finds a count of these tenants; null means all. */
export async function findCount(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<StoredCount | undefined> {
  const rows = await db.query<StoredCount>(sql`
    select ${columns} from record_counts j where j.id = ${id} and ${isOfTenantsOrStores(reach)}`);
  return rows[0];
}

/** Ends, holds or resumes a count that has not ended; undefined when it has. */
export async function changeCount(
  db: Queryable,
  id: string,
  to: 'queued' | 'paused' | 'cancelled',
): Promise<StoredCount | undefined> {
  return change(
    db,
    id,
    sql`state = ${to}, error = null, not_before = null,
      finished_at = case when ${to} = 'cancelled' then clock_timestamp() end`,
  );
}

async function change(db: Queryable, id: string, set: Sql): Promise<StoredCount | undefined> {
  const rows = await db.query<StoredCount>(sql`
    update record_counts j set ${set} where id = ${id} and finished_at is null returning ${columns}`);
  return rows[0];
}

const isNext = sql`state in ('queued', 'running') and finished_at is null and coalesce(not_before <= now(), true)`;

export async function hasNext(db: Queryable): Promise<boolean> {
  return (await db.query(sql`select 1 from record_counts where ${isNext} limit 1`)).length > 0;
}

/** Takes the count whose turn it is. */
export async function takeNext(db: Queryable): Promise<StoredCount | undefined> {
  const rows = await db.query<StoredCount>(sql`
    update record_counts j set state = 'running', worked_at = clock_timestamp(),
      started_at = coalesce(j.started_at, clock_timestamp())
    where id = (
      select id from record_counts where ${isNext} order by worked_at nulls first, requested_at, id
      limit 1 for update)
    returning ${columns}`);
  return rows[0];
}

/** Adds a stretch to a count, unless somebody has ended, held or counted on meanwhile. Without `to` it was the last. */
export async function addStretch(
  db: Queryable,
  { id, looked }: Pick<StoredCount, 'id' | 'looked'>,
  found: { count: number; bytes: number; looked: number; to: StoreDay | null },
): Promise<void> {
  const { to } = found;
  await db.query(sql`
    update record_counts set count = count + ${found.count}, bytes = bytes + ${found.bytes},
      looked = looked + ${found.looked}, after_store = ${to?.store ?? null}, after_day = ${to?.day ?? null}::date,
      error = null, not_before = null
      ${to === null ? sql`, state = 'completed', finished_at = clock_timestamp()` : raw('')}
    where id = ${id} and state = 'running' and looked = ${looked}`);
}

/** Notes why a count waits, or has failed if it is not to be tried again. */
export async function noteTrouble(
  db: Queryable,
  id: string,
  { error, againSeconds }: { error: string; againSeconds: number | null },
): Promise<void> {
  await db.query(sql`
    update record_counts set error = ${error}, not_before = now() + make_interval(secs => ${againSeconds}::float8)
      ${againSeconds === null ? sql`, state = 'failed', finished_at = clock_timestamp()` : raw('')}
    where id = ${id} and state = 'running'`);
}

/** Lists the counts of a tenant that have not ended. */
export async function listOpen(
  db: Queryable,
  tenant: string,
): Promise<Pick<StoredCount, 'id' | 'slice'>[]> {
  return db.query(
    sql`select id, slice from record_counts where tenant = ${tenant} and finished_at is null`,
  );
}

export async function failCounts(
  db: Queryable,
  ids: readonly string[],
  error: string,
): Promise<Named[]> {
  return db.query<Named>(sql`
    update record_counts set state = 'failed', error = ${error}, finished_at = clock_timestamp()
    where id = any(${[...ids]}::text[]) and finished_at is null returning id, requested_by as name`);
}

/** Lists the first counts that have not ended, for the overview. An index has only these. */
export async function listOpenCounts(
  db: Queryable,
  tenants: readonly string[] | null,
): Promise<WorkRow[]> {
  return db.query<WorkRow>(sql`
    select 'count' as kind, j.id, ${state} as state, j.tenant, j.looked as done, ${total} as total
    from record_counts j where j.finished_at is null and ${isOfTenants(tenants)}
    order by j.requested_at, j.id limit 5`);
}

/** Counts them by state, for the metrics. */
export async function countOpenByState(db: Queryable): Promise<StateRow[]> {
  return db.query<StateRow>(sql`
    select ${state} as state, count(*) as count, extract(epoch from now() - min(requested_at))::float8 as age_seconds
    from record_counts j where finished_at is null group by 1`);
}

/** Deletes counts that were asked for so long ago that exports go as well. */
export async function pruneCounts(db: Queryable): Promise<void> {
  await db.query(sql`
    delete from record_counts where requested_at < now() - interval '90 days' and finished_at is not null`);
}

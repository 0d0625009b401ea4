import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { ExportFormat, ExportState } from '../values.ts';
import type { Delivery } from './deliver.ts';
import type { JobId } from './job.ts';
import { mayBeDelivered } from './queries.ts';

/** Stores that a run is delivered but for its marker. False when its schedule stands elsewhere than it began. */
export async function setDelivery(
  connection: Connection,
  { tenant, id }: JobId,
  run: {
    scheduleId: string;
    delivery: Delivery;
    recordedFrom: string | null;
    recordedBefore: string;
  },
): Promise<boolean> {
  await connection.query(sql`
    update exports set delivery = ${JSON.stringify(run.delivery)}::json
    where tenant = ${tenant} and id = ${id}`);
  const rows = await connection.query(sql`
    update export_schedules set delivered_before = ${run.recordedBefore}::timestamptz
    where tenant = ${tenant} and id = ${run.scheduleId}
      and delivered_before is not distinct from ${run.recordedFrom}::timestamptz
    returning id`);
  return rows.length === 1;
}

/** A run that lacks only its marker. */
type Unmarked = JobId & {
  readonly state: ExportState;
  readonly schedule_id: string;
  readonly delivered_to: string;
  readonly delivery: Delivery;
};

export async function listUnmarked(
  db: Queryable,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<Unmarked[]> {
  return db.query<Unmarked>(sql`
    select tenant, id, state, schedule_id, delivered_to, delivery from exports
    where delivery is not null and delivered_at is null and id <> all(${[...except]}::text[])
    order by id limit ${limit}`);
}

/** Stores that the marker of a run is there, or why it is not. Of a file that was erased the reason stays. */
export async function setMarked(
  db: Queryable,
  { tenant, id }: JobId,
  error: string | null,
): Promise<void> {
  await db.query(sql`
    update exports set delivered_at = case when ${error}::text is null then now() end,
      error = case when state = 'erased' then error else ${error} end
    where tenant = ${tenant} and id = ${id} and delivered_at is null`);
}

/** A run whose end is to be reported. Without a delivery it failed. */
export type EndedRun = JobId & {
  readonly schedule_id: string;
  readonly schedule_name: string;
  readonly format: ExportFormat;
  readonly recorded_from: string | null;
  readonly recorded_before: string;
  readonly delivered_to: string;
  readonly delivery: Delivery | null;
  readonly ended_at: string;
  readonly error_code: string | null;
  readonly error: string | null;
};

/** Lists the runs that were delivered, or failed, and are still to be reported. */
export async function listUntold(
  db: Queryable,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<EndedRun[]> {
  return db.query<EndedRun>(sql`
    select tenant, id, schedule_id, schedule_name, format, slice->>'recordedFrom' as recorded_from,
      ${instantText('recorded_before')} as recorded_before, delivered_to, delivery,
      ${instantText('coalesce(delivered_at, finished_at)')} as ended_at, error_code, error
    from exports
    where untold and (state = 'failed' or delivered_at is not null) and id <> all(${[...except]}::text[])
    order by coalesce(delivered_at, finished_at), id limit ${limit}`);
}

/** Stores that the end of a run was reported. */
export async function setTold(db: Queryable, { tenant, id }: JobId): Promise<void> {
  await db.query(sql`update exports set untold = false where tenant = ${tenant} and id = ${id}`);
}

/** Forgets the secrets of places that schedules have left, once the run that was under way has ended there. */
export async function dropPlaceSecrets(db: Queryable): Promise<void> {
  await db.query(sql`
    update exports set place_secret = null
    where place_secret is not null and state not in ('queued', 'running')
      and (delivery is null or delivered_at is not null)`);
}

/** Lists the folders of runs of schedules that may hold records of these stores and days, the newest first. */
export async function listDeliveries(
  db: Queryable,
  tenant: string,
  { stores, days, limit }: { stores: readonly string[]; days: readonly string[]; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ delivered_to: string }>(sql`
    select delivered_to from exports e
    where tenant = ${tenant} and delivered_to is not null
      and (slice->>'store' is null or slice->>'store' = any(${[...stores]}::text[]))
      and exists (select from export_parts p
        where p.tenant = e.tenant and p.export_id = e.id and ${mayBeDelivered} and exists (
          select from unnest(${[...days]}::date[]) as gone(day) where day between p.min_day and p.max_day))
    order by e.created_at desc, id desc limit ${limit}`);
  return rows.map((row) => row.delivered_to);
}

import sql from 'sql-template-tag';
import type { Connection, Queryable } from '../../platform/postgres/database.ts';
import type { ExportState } from '../values.ts';
import type { Delivery } from './deliver.ts';
import type { JobId } from './job.ts';

/**
 * Stores that all of a run lies in its folder but the marker, and that its schedule has delivered what it covers.
 * Returns false when the schedule stands elsewhere than where the run began.
 */
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
export type Unmarked = JobId & {
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

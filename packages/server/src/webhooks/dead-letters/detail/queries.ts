import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { instantText } from '../../../platform/postgres/instant-sql.ts';
import { advisoryLocks, isHeldLock } from '../../../platform/postgres/locks.ts';
import type { FailureClass } from '../../contract.ts';
import { type DeliveryRow, deliveryColumns } from '../lists/queries.ts';
import type { Silence, WaitFacts } from './waiting.ts';

export async function findDelivery(
  db: Queryable,
  lane: number,
  id: string,
): Promise<DeliveryRow | undefined> {
  const rows = await db.query<DeliveryRow>(sql`
    select ${deliveryColumns} from deliveries d where d.lane = ${lane} and d.id = ${id}`);
  return rows[0];
}

/** What a delivery sends, and what bears on why it waits. */
export async function findCircumstances(
  db: Queryable,
  lane: number,
  id: string,
): Promise<(WaitFacts & { body: string }) | undefined> {
  const rows = await db.query<WaitFacts & { body: string }>(sql`
    select incidents.body, d.status, d.failure_class, d.attempts, d.max_attempts, d.held_by, d.is_probe,
      ${instantText('d.next_attempt_at')} as next_retry,
      coalesce(d.next_attempt_at > now(), false) as is_early,
      case when d.leased_until > now() then ${instantText('d.leased_until')} end as leased_until,
      coalesce(e.enabled, false) as is_enabled, e.disabled_reason, e.disabled_by,
      ${instantText('e.disabled_at')} as disabled_at,
      e.id is null or e.deleted_at is not null as is_deleted, e.rate_limit,
      coalesce(e.failures_in_row, 0) as failures_in_row,
      case when e.paused_until > now() then ${instantText('e.paused_until')} end as paused_until
    from deliveries d
    join incidents on incidents.id = d.incident_id
    left join webhook_endpoints e on e.id = d.endpoint_id
    where d.lane = ${lane} and d.id = ${id}`);
  return rows[0];
}

export type AttemptRow = {
  number: number;
  started_at: string;
  duration_ms: number;
  target: string;
  status: number | null;
  failure_class: FailureClass | null;
  error: string | null;
  response: Buffer | null;
};

/** Newest first. */
export async function listAttempts(
  db: Queryable,
  lane: number,
  id: string,
  limit: number,
): Promise<AttemptRow[]> {
  return db.query<AttemptRow>(sql`
    select number, ${instantText('started_at')} as started_at, duration_ms, target, status, failure_class,
      error, response
    from delivery_attempts where lane = ${lane} and delivery_id = ${id}
    order by number desc limit ${limit}`);
}

/** A drainer's session says something every two seconds. */
const answersWithinSeconds = 6;

/** Who could deliver what is due in a lane. */
export async function findDrainers(
  db: Queryable,
  lane: number,
): Promise<{ answering: number; silent: Silence | null }> {
  const rows = await db.query<Silence & { keeps: boolean }>(sql`
    select drainers.keeps, drainers.seconds, lanes.silence_seconds - drainers.seconds as passes_in,
      ${instantText('(now() + make_interval(secs => lanes.silence_seconds - drainers.seconds))')} as passes_at
    from (
      select bool_or(l.classid = ${advisoryLocks.lanes} and l.objid = ${lane}) as keeps,
        case when a.state = 'idle'
          then extract(epoch from clock_timestamp() - a.state_change)::float8 else 0 end as seconds
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where ${isHeldLock('lanes', 'drainers')} group by a.pid, a.state, a.state_change
    ) drainers, lanes where lanes.lane = ${lane}`);
  const isSilent = ({ seconds }: Silence) => seconds > answersWithinSeconds;
  return {
    answering: rows.filter((row) => !isSilent(row)).length,
    silent: rows.find((row) => row.keeps && isSilent(row)) ?? null,
  };
}

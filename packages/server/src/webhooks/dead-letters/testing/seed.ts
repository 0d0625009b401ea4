import sql from 'sql-template-tag';
import { testActor } from '../../../../test/actor.ts';
import { newId, randomText } from '../../../kernel/ids.ts';
import type { Act } from '../../../platform/audit.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { laneOf, timeText } from '../../lanes.ts';
import type { DeliveryStatus, FailureClass } from '../../values.ts';
import { insertBulkJob, type NewBulkJob } from '../job-queries.ts';
import { runBatch } from '../run-jobs.ts';

/** A delivery id as the statement that stores incidents makes it. */
export function newDeliveryId(lane: number, nowMillis: number): string {
  return `dlv_${String(lane).padStart(2, '0')}${timeText(nowMillis)}${randomText(11)}`;
}

export type SeededEndpoint = { id: string; tenant: string };

/** An endpoint as the tables have it, for tests of what is done with its deliveries. */
export async function seedEndpoint(
  db: Queryable,
  options: {
    tenant?: string;
    enabled?: boolean;
    disabledReason?: string;
    isDeleted?: boolean;
    maxAttempts?: number;
    rateLimit?: number;
    pausedSeconds?: number;
  } = {},
): Promise<SeededEndpoint> {
  const id = newId('ep');
  const { tenant = 'T', enabled = true, isDeleted = false } = options;
  await db.query(sql`
    insert into webhook_endpoints (id, lane, tenant, url, event_types, enabled, disabled_reason, disabled_at, max_attempts,
      rate_limit, secret, failures_in_row, paused_until, deleted_at)
    values (${id}, ${laneOf(id)}, ${tenant}, ${`https://${tenant.toLowerCase()}.example/hook`}, ${['*']}, ${enabled},
      ${options.disabledReason ?? null}, case when not ${enabled}::boolean then now() end,
      ${options.maxAttempts ?? null}, ${options.rateLimit ?? null},
      ${Buffer.from('secret')}, ${options.pausedSeconds === undefined ? 0 : 20},
      now() + make_interval(secs => ${options.pausedSeconds ?? null}),
      case when ${isDeleted}::boolean then now() end)`);
  return { id, tenant };
}

type DeliverySeed = {
  status?: DeliveryStatus;
  failureClass?: FailureClass;
  error?: string;
  target?: string;
  attempts?: number;
  maxAttempts?: number;
  incidentId?: string;
  /** How long ago it was made and last failed; fractions are kept. */
  secondsAgo?: number;
  /** Until its next attempt; negative = it is due. */
  dueInSeconds?: number;
  heldBy?: string;
  isProbe?: boolean;
  /** An attempt is under way for so long at most; negative = its time is over. */
  leasedSeconds?: number;
};

/** A delivery of an incident of its own, counted if it is a dead letter. Answers its id. */
export async function seedDelivery(
  db: Queryable,
  endpoint: SeededEndpoint,
  seed: DeliverySeed = {},
): Promise<string> {
  const [id = ''] = await seedDeliveries(db, endpoint, 1, seed);
  return id;
}

/** Many alike; each failed a second before the last. */
export async function seedDeliveries(
  db: Queryable,
  endpoint: SeededEndpoint,
  count: number,
  seed: DeliverySeed = {},
): Promise<string[]> {
  const { status = 'abandoned', failureClass = 'status', secondsAgo = 60 } = seed;
  const hasFailed = status === 'pending' || status === 'abandoned';
  const attempts = seed.attempts ?? (status === 'queued' ? 0 : status === 'abandoned' ? 8 : 1);
  const isDue = status === 'queued' || status === 'pending';
  const dueIn = isDue ? (seed.dueInSeconds ?? (status === 'queued' ? 0 : 3600)) : null;
  const lane = laneOf(endpoint.id);
  const ids = Array.from({ length: count }, () => newDeliveryId(lane, Date.now()));
  const incidentId = seed.incidentId ?? newId('inc');
  await db.query(sql`
    insert into incidents (id, tenant, type, occurred_at, body)
    values (${incidentId}, ${endpoint.tenant}, 'incident.created', now(), ${seedBody})
    on conflict (id) do nothing`);
  await db.query(sql`
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key,
      status, attempts, max_attempts, next_attempt_at, held_by, is_probe, lease, leased_until, last_status,
      failure_class, error, created_at, last_attempt_at, finished_at)
    select ${lane}, id, ${incidentId}, ${endpoint.id}, ${endpoint.tenant}, 'incident.created',
      ${seed.target ?? 'https://receiver.example/hook'}, 'key_' || id, ${status}, ${attempts},
      ${seed.maxAttempts ?? 8}, now() + make_interval(secs => ${dueIn}), ${seed.heldBy ?? null},
      ${seed.isProbe ?? false}, ${seed.leasedSeconds === undefined ? null : 1}::bigint,
      now() + make_interval(secs => ${seed.leasedSeconds ?? null}), ${attempts > 0 ? 500 : null},
      case when ${attempts} > 0 then ${failureClass} end,
      case when ${attempts} > 0 then ${seed.error ?? 'the receiver answered 500'} end,
      now() - make_interval(secs => ${secondsAgo}::float8 + n),
      case when ${attempts} > 0 then now() - make_interval(secs => ${secondsAgo}::float8 + n) end,
      case when ${isDue || status === 'abandoned'} then null else now() end
    from unnest(${ids}::text[]) with ordinality as seeded (id, n)`);
  if (hasFailed) {
    await db.query(sql`
      insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
      values (${endpoint.id}, ${status}, ${failureClass}, ${endpoint.tenant}, ${count})
      on conflict (endpoint_id, status, failure_class)
      do update set count = dead_letter_counts.count + excluded.count`);
  }
  return ids;
}

export const seedBody =
  '{"type":"incident.created","timestamp":"2026-03-05T14:07:09.123456Z","data":{"n":1}}';

/** Counters that differ from the rows they count; none, if all is well. */
export async function findWrongCounts(db: Queryable): Promise<object[]> {
  return db.query(sql`
    select endpoint_id, status, failure_class, c.count as counter, coalesce(d.count, 0) as rows
    from (
      select endpoint_id, status, failure_class, tenant, count(*) from deliveries
      where status in ('pending', 'abandoned') group by endpoint_id, status, failure_class, tenant
    ) d full join dead_letter_counts c using (endpoint_id, status, failure_class, tenant)
    where coalesce(d.count, 0) <> coalesce(c.count, 0)`);
}

/** How many deliveries an endpoint has in each status that it has any in. */
export async function countStatuses(
  db: Queryable,
  endpointId: string,
): Promise<Partial<Record<DeliveryStatus, number>>> {
  const rows = await db.query<{ status: string; count: number }>(sql`
    select status, count(*) as count from deliveries where endpoint_id = ${endpointId} group by 1`);
  return Object.fromEntries(rows.map((row) => [row.status, row.count]));
}

/** Whoever acts, and what puts nothing on record. */
export const silentAct: Act = {
  actor: testActor,
  request: {} as Act['request'],
  audit: async () => {},
};

/** A bulk retry of all that is dead, unless `more` says otherwise. */
export function makeBulkJob(db: Queryable, id: string, more: Partial<NewBulkJob> = {}) {
  const any = { status: null, tenant: null, endpoint_id: null, failure_class: null };
  const always = { event_type: null, failed_from: null, failed_to: null, reach: null, rate: null };
  const made = { action: 'retry', rowsTotal: 0, createdBy: 'test', maxAttempts: 8 } as const;
  return insertBulkJob(db, { id, ...any, ...always, ...made, ...more });
}

/** What a bulk job needs beside the database: nobody is woken or on hold, and nothing is put on record. */
export const jobParts = {
  wakeUp: { wake() {} },
  audit: async () => {},
  isOnHold: async () => false,
};

/** Does all bulk jobs to their ends, as far as they need not wait. */
export async function workOff(db: Database, parts: Parameters<typeof runBatch>[1] = jobParts) {
  while ((await runBatch(db, parts)).hasWorked);
}

/** What the tests look at of a delivery. */
export async function readDelivery(db: Queryable, id: string) {
  const rows = await db.query<{
    status: DeliveryStatus;
    version: number;
    attempts: number;
    max_attempts: number;
    schedule_from: number;
    is_probe: boolean;
    is_due: boolean | null;
    held_by: string | null;
    lease: number | null;
    finished_at: string | null;
  }>(sql`
    select status, version, attempts, max_attempts, schedule_from, is_probe,
      next_attempt_at <= now() as is_due, held_by, lease, finished_at
    from deliveries where id = ${id}`);
  if (rows[0] === undefined) throw new Error(`no delivery ${id}`);
  return rows[0];
}

/** Empties the tables. Not by truncate, whose locks meet those of a job's batch under way. */
export async function clearQueue(db: Queryable): Promise<void> {
  await db.query(sql`delete from dead_letter_jobs`);
  await db.query(sql`delete from deliveries`);
  await db.query(sql`delete from dead_letter_counts`);
  await db.query(sql`delete from order_keys`);
}

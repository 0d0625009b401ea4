import sql, { raw } from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { BreakerState, DisabledReason } from '../values.ts';

/** What callers see of an endpoint; its secrets are not among it. */
export type EndpointRow = {
  id: string;
  tenant: string;
  url: string;
  description: string | null;
  event_types: string[];
  enabled: boolean;
  disabled_reason: DisabledReason | null;
  disabled_at: string | null;
  disabled_by: string | null;
  max_attempts: number | null;
  retry_schedule: number[] | null;
  rate_limit: number | null;
  breaker_state: BreakerState;
  failures_in_row: number;
  paused_until: string | null;
  previous_secret_until: string | null;
  backlog_count: number;
  is_discarding_backlog: boolean;
  created_at: string;
  updated_at: string;
};

/** What an operator decides. */
export type EndpointSettings = Pick<
  EndpointRow,
  | 'url'
  | 'description'
  | 'event_types'
  | 'enabled'
  | 'disabled_reason'
  | 'disabled_by'
  | 'max_attempts'
  | 'retry_schedule'
  | 'rate_limit'
>;

/** Tenants that the caller reaches; null = all. */
type Reach = readonly string[] | null;

/**
 * What is queued or pending of an endpoint, counted along its index and no further than this: a list of
 * endpoints with a million rows each must not take seconds.
 */
export const mostCounted = 10_000;
const backlog = sql`(select count(*) from (
    select from deliveries d where d.lane = webhook_endpoints.lane
      and d.endpoint_id = webhook_endpoints.id and d.next_attempt_at is not null
    limit ${raw(String(mostCounted))}
  ) as waiting)`;

const columns = sql`id, tenant, url, description, event_types, enabled, disabled_reason,
  ${instantText('disabled_at')} as disabled_at, disabled_by, max_attempts, retry_schedule, rate_limit,
  case when paused_until is null then 'closed' when paused_until > now() then 'open' else 'probing' end
    as breaker_state,
  failures_in_row, ${instantText('paused_until')} as paused_until,
  case when previous_secrets_until[1] > now() then ${instantText('previous_secrets_until[1]')} end
    as previous_secret_until,
  ${backlog} as backlog_count,
  exists (
    select from dead_letter_jobs j where j.endpoint_id = webhook_endpoints.id
      and j.action = 'discard_backlog' and j.state = 'running'
  ) as is_discarding_backlog,
  ${instantText('webhook_endpoints.created_at')} as created_at,
  ${instantText('webhook_endpoints.updated_at')} as updated_at`;

/** A deleted endpoint is as good as none. */
const alive = (id: string, reach: Reach) => sql`webhook_endpoints.id = ${id} and deleted_at is null
  and (${reach}::text[] is null or tenant = any(${reach}::text[]))`;

export async function insertEndpoint(
  db: Queryable,
  endpoint: EndpointSettings & { id: string; lane: number; tenant: string; secret: Buffer },
): Promise<EndpointRow | undefined> {
  const rows = await db.query<EndpointRow>(sql`
    insert into webhook_endpoints (id, lane, tenant, url, description, event_types, enabled,
      disabled_reason, disabled_at, disabled_by, max_attempts, retry_schedule, rate_limit, secret)
    values (${endpoint.id}, ${endpoint.lane}, ${endpoint.tenant}, ${endpoint.url},
      ${endpoint.description}, ${endpoint.event_types}, ${endpoint.enabled},
      ${endpoint.disabled_reason}, case when not ${endpoint.enabled}::boolean then now() end,
      ${endpoint.disabled_by}, ${endpoint.max_attempts}, ${endpoint.retry_schedule},
      ${endpoint.rate_limit}, ${endpoint.secret})
    returning ${columns}`);
  return rows[0];
}

/** By tenant and id, those after `after`. */
export async function listEndpoints(
  db: Queryable,
  filter: { tenant: string | undefined; reach: Reach },
  page: { after: readonly string[] | null; limit: number },
): Promise<EndpointRow[]> {
  const [tenant, id] = page.after ?? [null, null];
  return db.query<EndpointRow>(sql`
    select ${columns} from webhook_endpoints
    where deleted_at is null
      and (${filter.tenant ?? null}::text is null or tenant = ${filter.tenant ?? null})
      and (${filter.reach}::text[] is null or tenant = any(${filter.reach}::text[]))
      and (${tenant}::text is null or (tenant, id) > (${tenant}, ${id}))
    order by tenant, id limit ${page.limit}`);
}

export async function findEndpoint(
  db: Queryable,
  id: string,
  reach: Reach,
): Promise<EndpointRow | undefined> {
  const rows = await db.query<EndpointRow>(
    sql`select ${columns} from webhook_endpoints where ${alive(id, reach)}`,
  );
  return rows[0];
}

/**
 * The endpoint, which nobody else changes until the end of the transaction, and its sealed secret. Two
 * statements: whoever waits for a lock still reads other tables as they were before, jobs among them.
 */
export async function lockEndpoint(
  db: Queryable,
  id: string,
  reach: Reach,
): Promise<(EndpointRow & { secret: Buffer }) | undefined> {
  await db.query(sql`select from webhook_endpoints where ${alive(id, reach)} for update`);
  const rows = await db.query<EndpointRow & { secret: Buffer }>(
    sql`select ${columns}, secret from webhook_endpoints where ${alive(id, reach)}`,
  );
  return rows[0];
}

export async function updateEndpoint(
  db: Queryable,
  id: string,
  settings: EndpointSettings,
  options: { closesBreaker: boolean },
): Promise<EndpointRow | undefined> {
  const { closesBreaker } = options;
  const rows = await db.query<EndpointRow>(sql`
    update webhook_endpoints set url = ${settings.url}, description = ${settings.description},
      event_types = ${settings.event_types}, enabled = ${settings.enabled},
      disabled_reason = ${settings.disabled_reason}, disabled_by = ${settings.disabled_by},
      disabled_at = case when not ${settings.enabled}::boolean then coalesce(disabled_at, now()) end,
      max_attempts = ${settings.max_attempts},
      retry_schedule = ${settings.retry_schedule}, rate_limit = ${settings.rate_limit},
      failures_in_row = case when ${closesBreaker} then 0 else failures_in_row end,
      pauses_in_row = case when ${closesBreaker} then 0 else pauses_in_row end,
      paused_until = case when ${closesBreaker} then null else paused_until end,
      updated_at = now()
    where id = ${id} returning ${columns}`);
  return rows[0];
}

/** Rotated out within 24 hours, an endpoint's secrets that sign beside the present one, at most. */
const mostPreviousSecrets = 5;

/** What was rotated out signs for another 24 hours; the newest few of those that still do are kept. */
export async function updateSecret(
  db: Queryable,
  id: string,
  secrets: { fresh: Buffer; previous: Buffer | null },
): Promise<EndpointRow | undefined> {
  const { fresh, previous } = secrets;
  const rows = await db.query<EndpointRow>(sql`
    update webhook_endpoints set secret = ${fresh}, previous_secrets = kept.secrets,
      previous_secrets_until = kept.untils, updated_at = now()
    from (
      select coalesce(array_agg(secret order by position), '{}') as secrets,
        coalesce(array_agg(until order by position), '{}') as untils
      from (
        select position, old.secret, until from (
          select 0 as position, ${previous}::bytea as secret, now() + interval '24 hours' as until
          union all
          select position, old.secret, until from webhook_endpoints e, unnest(e.previous_secrets,
            e.previous_secrets_until) with ordinality as old (secret, until, position)
          where e.id = ${id}
        ) as old
        where old.secret is not null and until > now()
        order by position limit ${raw(String(mostPreviousSecrets))}
      ) as signing
    ) as kept
    where id = ${id} returning ${columns}`);
  return rows[0];
}

export async function markDeleted(db: Queryable, id: string): Promise<void> {
  await db.query(sql`
    update webhook_endpoints set deleted_at = now(), updated_at = now() where id = ${id}`);
}

/** Deliveries that are queued or pending, and with `parked` those that are abandoned, too. */
export async function countLiveDeliveries(
  db: Queryable,
  endpoint: { id: string; lane: number; parked: boolean },
): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select (select count(*) from deliveries where lane = ${endpoint.lane}
        and endpoint_id = ${endpoint.id} and next_attempt_at is not null)
      + (select count(*) from deliveries where ${endpoint.parked}::boolean
        and endpoint_id = ${endpoint.id} and status = 'abandoned')
      as count`);
  return rows[0]?.count ?? 0;
}

export async function insertDiscardJob(
  db: Queryable,
  job: {
    id: string;
    action: 'discard' | 'discard_backlog';
    endpointId: string;
    rows: number;
    createdBy: string;
  },
): Promise<void> {
  await db.query(sql`
    insert into dead_letter_jobs (id, action, state, endpoint_id, rows_total, created_by)
    values (${job.id}, ${job.action}, 'running', ${job.endpointId}, ${job.rows}, ${job.createdBy})`);
}

const checkName = 'webhook-secret-key-check';

/** Whether this database was begun with a secret key. */
export async function hasKeyCheck(db: Queryable): Promise<boolean> {
  const rows = await db.query(sql`select 1 from signing_keys where name = ${checkName}`);
  return rows.length === 1;
}

/** What tells the key that this database was begun with: of the first process that asks, its own. */
export async function findOrMakeKeyCheck(db: Queryable, own: Buffer): Promise<Buffer> {
  await db.query(sql`
    insert into signing_keys (name, key) values (${checkName}, ${own}) on conflict (name) do nothing`);
  const rows = await db.query<{ key: Buffer }>(
    sql`select key from signing_keys where name = ${checkName}`,
  );
  if (rows[0] === undefined) throw new Error(`signing key ${checkName} vanished`);
  return rows[0].key;
}

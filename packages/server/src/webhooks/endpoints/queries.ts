import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/instant-sql.ts';

/** What callers see of an endpoint; its secrets are not among it. */
export type EndpointRow = {
  id: string;
  tenant: string;
  url: string;
  description: string | null;
  event_types: string[];
  enabled: boolean;
  disabled_reason: 'operator' | 'gone' | null;
  max_attempts: number | null;
  retry_schedule: number[] | null;
  rate_limit: number | null;
  breaker_state: 'closed' | 'open' | 'probing';
  failures_in_row: number;
  paused_until: string | null;
  previous_secret_until: string | null;
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
  | 'max_attempts'
  | 'retry_schedule'
  | 'rate_limit'
>;

/** Tenants that the caller reaches; null = all. */
type Reach = readonly string[] | null;

const columns = sql`id, tenant, url, description, event_types, enabled, disabled_reason,
  max_attempts, retry_schedule, rate_limit,
  case when paused_until is null then 'closed' when paused_until > now() then 'open' else 'probing' end
    as breaker_state,
  failures_in_row, ${instantText('paused_until')} as paused_until,
  case when previous_secret_until > now() then ${instantText('previous_secret_until')} end
    as previous_secret_until,
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
      disabled_reason, max_attempts, retry_schedule, rate_limit, secret)
    values (${endpoint.id}, ${endpoint.lane}, ${endpoint.tenant}, ${endpoint.url},
      ${endpoint.description}, ${endpoint.event_types}, ${endpoint.enabled},
      ${endpoint.disabled_reason}, ${endpoint.max_attempts}, ${endpoint.retry_schedule},
      ${endpoint.rate_limit}, ${endpoint.secret})
    returning ${columns}`);
  return rows[0];
}

/** By tenant and id, those after `after`. */
export async function listEndpoints(
  db: Queryable,
  filter: { tenant: string | undefined; reach: Reach },
  page: { after: readonly [tenant: string, id: string] | null; limit: number },
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

/** The endpoint, which nobody else changes until the end of the transaction, and its sealed secret. */
export async function lockEndpoint(
  db: Queryable,
  id: string,
  reach: Reach,
): Promise<(EndpointRow & { secret: Buffer }) | undefined> {
  const rows = await db.query<EndpointRow & { secret: Buffer }>(
    sql`select ${columns}, secret from webhook_endpoints where ${alive(id, reach)} for update`,
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
      disabled_reason = ${settings.disabled_reason}, max_attempts = ${settings.max_attempts},
      retry_schedule = ${settings.retry_schedule}, rate_limit = ${settings.rate_limit},
      failures_in_row = case when ${closesBreaker} then 0 else failures_in_row end,
      pauses_in_row = case when ${closesBreaker} then 0 else pauses_in_row end,
      paused_until = case when ${closesBreaker} then null else paused_until end,
      updated_at = now()
    where id = ${id} returning ${columns}`);
  return rows[0];
}

/** The previous secret, if there is one, signs for another 24 hours. */
export async function updateSecret(
  db: Queryable,
  id: string,
  secrets: { fresh: Buffer; previous: Buffer | null },
): Promise<EndpointRow | undefined> {
  const rows = await db.query<EndpointRow>(sql`
    update webhook_endpoints set secret = ${secrets.fresh}, previous_secret = ${secrets.previous},
      previous_secret_until = case when ${secrets.previous}::bytea is not null
        then now() + interval '24 hours' end,
      updated_at = now()
    where id = ${id} returning ${columns}`);
  return rows[0];
}

/** Whether it was there and is deleted now. */
export async function markDeleted(db: Queryable, id: string, reach: Reach): Promise<boolean> {
  const rows = await db.query(sql`
    update webhook_endpoints set deleted_at = now(), updated_at = now()
    where ${alive(id, reach)} returning id`);
  return rows.length === 1;
}

/** Deliveries that are neither delivered nor discarded. */
export async function countLiveDeliveries(
  db: Queryable,
  endpoint: { id: string; lane: number },
): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select (select count(*) from deliveries where lane = ${endpoint.lane}
        and endpoint_id = ${endpoint.id} and next_attempt_at is not null)
      + (select count(*) from deliveries where endpoint_id = ${endpoint.id} and status = 'abandoned')
      as count`);
  return rows[0]?.count ?? 0;
}

export async function insertDiscardJob(
  db: Queryable,
  job: { id: string; endpointId: string; rows: number; createdBy: string },
): Promise<void> {
  await db.query(sql`
    insert into dead_letter_jobs (id, action, state, endpoint_id, rows_total, created_by)
    values (${job.id}, 'discard', 'running', ${job.endpointId}, ${job.rows}, ${job.createdBy})`);
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

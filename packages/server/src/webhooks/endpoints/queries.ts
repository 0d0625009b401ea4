import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Static } from 'typebox';
import type { Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks } from '../../platform/postgres/locks.ts';
import { holdsText, instantText } from '../../platform/postgres/sql-text.ts';
import type { endpointSchema } from '../contract.ts';
import type { SealedHeaders } from '../custom-headers.ts';
import type { StoredDelivery } from '../delivery-settings.ts';
import { laneOf } from '../lanes.ts';
import { breakerClosed, heldBack, hourNow, isUnpolled, wantedTypes } from '../queries.ts';
import { isPattern } from '../subscription.ts';
import { type EndpointHealth, pollUrl, worstFirst } from '../values.ts';

/** An endpoint as callers may see it, without its secrets. Times are RFC 3339 text. */
export type EndpointRow = Static<typeof endpointSchema>;

/** The settings that an operator decides, and that are stored as they are. */
const plain = [
  ...(['url', 'description', 'uid', 'name', 'enabled', 'disabled_reason', 'disabled_by'] as const),
  ...([
    'max_attempts',
    'retry_schedule',
    'rate_limit',
    'disable_after_days',
    'when_stuck',
  ] as const),
] as const;

/** All of them, without how it is sent to. */
export type EndpointSettings = Pick<
  EndpointRow,
  (typeof plain)[number] | 'labels' | 'event_types' | 'stores' | 'where' | 'ordered'
>;

function storedSettings(settings: EndpointSettings & StoredDelivery): Record<string, Sql> {
  const { event_types: types, where, delivery } = settings;
  // The previous release knows no patterns, and takes them for all types.
  const hasPattern = types.some(isPattern);
  return {
    ...Object.fromEntries(plain.map((name) => [name, sql`${settings[name]}`])),
    labels: sql`${JSON.stringify(settings.labels)}::json`,
    event_types: sql`${hasPattern ? ['*'] : types}::text[]`,
    event_patterns: sql`${hasPattern ? types : null}::text[]`,
    stores: sql`${settings.stores}::text[]`,
    filter: sql`${where}::text`,
    filter_key: sql`md5(${where}::text)::uuid`,
    delivery: sql`${delivery}::jsonb`,
    delivery_keys: sql`${settings.delivery_keys}`,
    ordered: sql`nullif(${settings.ordered}, 'none')`,
  };
}

const storedHeaders = ({ header_names, headers }: SealedHeaders): Record<string, Sql> => ({
  header_names: sql`${header_names}::text[]`,
  headers: sql`${headers}`,
});

/** The tenants that the caller may touch; null means all. */
export type Reach = readonly string[] | null;

/** How far waiting deliveries are counted: along an index, but a list of endpoints may have a million rows each. */
const mostCounted = raw('10000');
const backlog = sql`(select json_build_object('count', count(*), 'is_exact', count(*) < ${mostCounted},
    'is_discarding', exists (
      select from dead_letter_jobs j where j.endpoint_id = webhook_endpoints.id
        and j.action = 'discard_backlog' and j.state = 'running'
    )) from (
    select from deliveries d where d.lane = webhook_endpoints.lane
      and d.endpoint_id = webhook_endpoints.id and d.next_attempt_at is not null
    limit ${mostCounted}
  ) as waiting)`;
const breaker = sql`json_build_object(
  'state', case when paused_until is null then 'closed' when paused_until > now() then 'open' else 'probing' end,
  'failures_in_row', failures_in_row, 'paused_until', ${instantText('paused_until')})`;

const recentHours = sql`h.hour >= ${hourNow} - interval '1 hour'`;
/** Whether more than one in twenty of some attempts failed; null: there were none. */
const isUnsteady = sql`20 * sum(h.failed + h.abandoned) > nullif(sum(h.delivered + h.failed + h.abandoned), 0)`;

/** Of the endpoints with attempts in this hour or the one before, whether more than one in twenty of these failed. */
const recent = sql`(select h.endpoint_id as hours_of, ${isUnsteady} as is_unsteady
  from endpoint_hours h where ${recentHours} group by h.endpoint_id) as recent`;
export const unsteadyIds = sql`array(select hours_of from ${recent} where is_unsteady)`;

/**
 * How an endpoint fares. One whose last attempt failed is degraded also when there was none for hours: it may wait for a
 * far retry. Of a busy one, a single failure says nothing. `unsteady` tells that of it: null where there were no attempts.
 */
const healthBy = (unsteady: Sql) => sql`case
  when not enabled then case when disabled_reason = 'gone' then 'gone' else 'disabled' end
  when ${isUnpolled} then 'unpolled'
  when paused_until is not null then 'failing'
  when coalesce(${unsteady}, failures_in_row > 0) then 'degraded' else 'ok' end`;

export const health = healthBy(sql`(
  select ${isUnsteady} from endpoint_hours h
  where h.lane = webhook_endpoints.lane and h.endpoint_id = webhook_endpoints.id and ${recentHours})`);

export const columns = sql`id, tenant, case when url = ${raw(`'${pollUrl}'`)} then 'pull' else 'push' end as type, url, description, uid, name, labels, ${wantedTypes} as event_types, stores, filter as where,
  ${health} as health, enabled, disabled_reason,
  ${instantText('disabled_at')} as disabled_at, disabled_by, max_attempts, retry_schedule, rate_limit,
  disable_after_days, delivery, coalesce(ordered, 'none') as ordered, when_stuck, header_names,
  case when failures_in_row > 0 then ${instantText('failing_since')} end as failing_since,
  ${breaker} as breaker,
  case when throttled_until > now() then ${instantText('throttled_until')} end as throttled_until,
  ${backlog} as backlog, ${heldBack} as held_back,
  case when previous_secrets_until[1] > now() then ${instantText('previous_secrets_until[1]')} end
    as previous_secret_until,
  ${instantText('webhook_endpoints.created_at')} as created_at,
  ${instantText('webhook_endpoints.updated_at')} as updated_at`;

/** Selects the endpoint with this id. One that is deleted, or out of reach, does not count. */
const alive = (id: string, reach: Reach) => sql`webhook_endpoints.id = ${id} and deleted_at is null
  and (${reach}::text[] is null or tenant = any(${reach}::text[]))`;

export async function insertEndpoint(
  db: Queryable,
  endpoint: EndpointSettings &
    SealedHeaders &
    StoredDelivery & { id: string; tenant: string; secret: Buffer },
): Promise<EndpointRow | undefined> {
  const { id, tenant, secret, enabled } = endpoint;
  const values = { ...storedSettings(endpoint), ...storedHeaders(endpoint) };
  const rows = await db.query<EndpointRow>(sql`
    insert into webhook_endpoints (id, lane, tenant, secret, disabled_at, ${raw(Object.keys(values).join(', '))})
    values (${id}, ${laneOf(id)}, ${tenant}, ${secret}, case when not ${enabled}::boolean then now() end,
      ${join(Object.values(values))})
    returning ${columns}`);
  return rows[0];
}

/** The key of an endpoint in a list by tenant and id, or before these by its health. */
export const keyOf =
  (order: 'health' | undefined) =>
  ({ tenant, id, health: fares }: EndpointRow): readonly string[] =>
    order === undefined ? [tenant, id] : [tenant, id, `${worstFirst.indexOf(fares) + 1}`];

/**
 * Lists endpoints in the order of `keyOf`, from `after` on. `q` is not looked for in the query of URLs, which may be
 * secret.
 */
export async function listEndpoints(
  db: Queryable,
  filter: {
    tenant: string | undefined;
    health: EndpointHealth | undefined;
    q: string | undefined;
    order: 'health' | undefined;
    reach: Reach;
  },
  page: { after: readonly string[] | null; limit: number },
): Promise<EndpointRow[]> {
  const [tenant, id, rank] = page.after ?? [null, null];
  const { health: wanted, q, order } = filter;
  const fares = healthBy(sql`is_unsteady`);
  const ranked = sql`array_position(${[...worstFirst]}::text[], ${fares})`;
  const [key, after] =
    order === undefined
      ? [sql`tenant, id`, sql`${tenant}, ${id}`]
      : [sql`${ranked}, tenant, id`, sql`${rank}::int, ${tenant}, ${id}`];
  const text = sql`concat_ws(' ', split_part(url, '?', 1), uid, name, description)`;
  return db.query<EndpointRow>(sql`
    select ${columns} from webhook_endpoints
      ${order === undefined && wanted === undefined ? empty : sql`left join ${recent} on hours_of = id`}
    where deleted_at is null
      and (${filter.tenant ?? null}::text is null or tenant = ${filter.tenant ?? null})
      and (${filter.reach}::text[] is null or tenant = any(${filter.reach}::text[]))
      and (${tenant}::text is null or (${key}) > (${after}))
      ${wanted === undefined ? empty : sql`and ${fares} = ${wanted}`}
      ${q === undefined ? empty : sql`and ${holdsText(text, q)}`}
    order by ${key} limit ${page.limit}`);
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

/** Another endpoint of the tenant that is called so. Whoever asks holds the lock of the tenant's names until it commits. */
export async function findNamesake(
  db: Queryable,
  { id, tenant, uid }: { id: string; tenant: string; uid: string },
): Promise<string | undefined> {
  await db.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.endpointNames}, hashtext(${`${tenant}/${uid}`}))`,
  );
  const rows = await db.query<{ id: string }>(sql`
    select id from webhook_endpoints
    where tenant = ${tenant} and uid = ${uid} and id <> ${id} and deleted_at is null limit 1`);
  return rows[0]?.id;
}

/** How many endpoints a tenant has, `most` at most. No other is made for it before the transaction ends. */
export async function countEndpointsOf(
  db: Queryable,
  tenant: string,
  most: number,
): Promise<number> {
  await db.query(
    sql`select pg_advisory_xact_lock(${advisoryLocks.endpointNames}, hashtext(${tenant}))`,
  );
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from (
      select from webhook_endpoints where tenant = ${tenant} and deleted_at is null limit ${most}
    ) found`);
  return rows[0]?.count ?? 0;
}

export async function findTwin(
  db: Queryable,
  { id, tenant, url }: { id: string; tenant: string; url: string },
): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(sql`
    select id from webhook_endpoints where tenant = ${tenant} and url = ${url} and url <> ${pollUrl} and id <> ${id} and deleted_at is null
    order by id limit 1`);
  return rows[0]?.id;
}

/**
 * Locks an endpoint, then reads it: a statement that waited for the lock would see other tables as they were before.
 */
export async function lockEndpoint(
  db: Queryable,
  id: string,
  reach: Reach,
): Promise<EndpointRow | undefined> {
  await db.query(sql`select from webhook_endpoints where ${alive(id, reach)} for update`);
  return findEndpoint(db, id, reach);
}

/** The secret, the headers and the keys of an endpoint that is locked, sealed. */
export async function findSealed(
  db: Queryable,
  id: string,
): Promise<Omit<SealedEndpoint, 'id' | 'previous_secrets'> | undefined> {
  const rows = await db.query<Omit<SealedEndpoint, 'id' | 'previous_secrets'>>(
    sql`select secret, headers, delivery_keys from webhook_endpoints where id = ${id}`,
  );
  return rows[0];
}

/** Stores the settings of a locked endpoint, and its headers where they change. `closesBreaker` also ends its pause. */
export async function updateEndpoint(
  db: Queryable,
  id: string,
  settings: EndpointSettings,
  options: { closesBreaker: boolean; headers: SealedHeaders | null; sending: StoredDelivery },
): Promise<EndpointRow | undefined> {
  const { closesBreaker, headers, sending } = options;
  const values = {
    ...storedSettings({ ...settings, ...sending }),
    ...(headers === null ? {} : storedHeaders(headers)),
  };
  const sets = Object.entries(values).map(([name, value]) => sql`${raw(name)} = ${value}`);
  const rows = await db.query<EndpointRow>(sql`
    update webhook_endpoints set ${join(sets)},
      disabled_at = case when not ${settings.enabled}::boolean then coalesce(disabled_at, now()) end,
      ${closesBreaker ? sql`${breakerClosed},` : empty} updated_at = now()
    where id = ${id} returning ${columns}`);
  return rows[0];
}

/** How many secrets that were rotated out within 24 hours sign beside the present one, at most. */
const mostPreviousSecrets = 5;

/** Replaces the secret. The old one (null: nobody can decrypt it) signs for 24 hours, as do the newest few before. */
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

/** Ends the secrets of a locked endpoint that were rotated out. `sending` is how it is sent to from now on. */
export async function endOldSecrets(
  db: Queryable,
  id: string,
  { delivery, delivery_keys: keys }: StoredDelivery,
): Promise<EndpointRow | undefined> {
  const rows = await db.query<EndpointRow>(sql`
    update webhook_endpoints set previous_secrets = '{}', previous_secrets_until = '{}', updated_at = now(),
      delivery = ${delivery}::jsonb, delivery_keys = ${keys}
    where id = ${id} returning ${columns}`);
  return rows[0];
}

/** Marks an endpoint as deleted. The row stays: by it the drainer finds the deliveries that it still has to discard. */
export async function markDeleted(db: Queryable, id: string): Promise<void> {
  await db.query(sql`
    update webhook_endpoints set deleted_at = now(), updated_at = now() where id = ${id}`);
}

/** Stores a job that discards deliveries, of which `rowsDone` are discarded already. How many are left nobody has counted. */
export async function insertDiscardJob(
  db: Queryable,
  job: {
    id: string;
    action: 'discard' | 'discard_backlog';
    endpointId: string;
    rowsDone: number;
    createdBy: string;
  },
): Promise<void> {
  await db.query(sql`
    insert into dead_letter_jobs (id, action, state, endpoint_id, rows_total, rows_done, created_by)
    values (${job.id}, ${job.action}, 'running', ${job.endpointId}, ${job.rowsDone}, ${job.rowsDone}, ${job.createdBy})`);
}

/** The name of the row that tells whether a process has the right secret key. */
const checkName = 'webhook-secret-key-check';

/** What the key that seals has to match; undefined as long as nobody has stored it. */
export async function findKeyCheck(db: Queryable): Promise<Buffer | undefined> {
  const rows = await db.query<{ key: Buffer }>(
    sql`select key from signing_keys where name = ${checkName}`,
  );
  return rows[0]?.key;
}

/** The row that tells which key seals; missing as long as what is sealed does not say under which key. */
const keyIdName = 'webhook-secret-key-id';

/** What the key that seals has to match, and whether that is named. The first process that asks stores its own. */
export async function findOrMakeKeyCheck(
  db: Queryable,
  own: { id: string; check: Buffer },
): Promise<{ check: Buffer; isBound: boolean }> {
  await db.query(sql`
    with made as (
      insert into signing_keys (name, key) values (${checkName}, ${own.check})
      on conflict (name) do nothing returning name
    )
    insert into signing_keys (name, key) select ${keyIdName}, decode(${own.id}, 'hex') from made
    on conflict (name) do nothing`);
  const rows = await db.query<{ check: Buffer; is_bound: boolean }>(sql`
    select key as check, exists (select from signing_keys where name = ${keyIdName}) as is_bound
    from signing_keys where name = ${checkName}`);
  if (rows[0] === undefined) throw new Error(`signing key ${checkName} vanished`);
  return { check: rows[0].check, isBound: rows[0].is_bound };
}

/** From now on this key seals, in the form that names it. */
export async function setSealingKey(
  db: Queryable,
  { id, check }: { id: string; check: Buffer },
): Promise<void> {
  await db.query(sql`
    insert into signing_keys (name, key)
    values (${checkName}, ${check}), (${keyIdName}, decode(${id}, 'hex'))
    on conflict (name) do update set key = excluded.key`);
}

/** The id of the key in a sealed secret, as `keyIdOf` reads it; null: it does not say. */
const sealedUnder = sql`case when get_byte(sealed, 0) = 2 then encode(substring(sealed from 2 for 4), 'hex') end`;

/** How many secrets of endpoints are sealed under each key, with those that were rotated out, headers and keys. */
export async function countSealed(
  db: Queryable,
): Promise<{ key_id: string | null; count: number }[]> {
  return db.query(sql`
    select ${sealedUnder} as key_id, count(*)::int as count from (
      select secret as sealed from webhook_endpoints
      union all
      select unnest(previous_secrets) from webhook_endpoints
      union all
      select unnest(array[headers, delivery_keys]) from webhook_endpoints
    ) secrets where sealed is not null group by 1`);
}

type SealedEndpoint = {
  id: string;
  secret: Buffer;
  previous_secrets: Buffer[];
  headers: Buffer | null;
  delivery_keys: Buffer | null;
};

/** The next endpoints after `after` that have a secret under another key than this one. */
export async function listSealedOtherwise(
  db: Queryable,
  { keyId, after, limit }: { keyId: string; after: string; limit: number },
): Promise<SealedEndpoint[]> {
  return db.query<SealedEndpoint>(sql`
    select id, secret, previous_secrets, headers, delivery_keys from webhook_endpoints e
    where id > ${after} and exists (
      select from unnest(array[e.secret, e.headers, e.delivery_keys] || e.previous_secrets) as each (sealed)
      where sealed is not null and ${sealedUnder} is distinct from ${keyId})
    order by id limit ${limit}`);
}

/** Stores the same secrets, sealed anew, unless somebody has changed them since they were read. */
export async function replaceSealed(
  db: Queryable,
  before: SealedEndpoint,
  after: Omit<SealedEndpoint, 'id'>,
): Promise<void> {
  await db.query(sql`
    update webhook_endpoints
    set secret = ${after.secret}, previous_secrets = ${after.previous_secrets}::bytea[],
      headers = ${after.headers}, delivery_keys = ${after.delivery_keys}
    where id = ${before.id} and secret = ${before.secret}
      and previous_secrets = ${before.previous_secrets}::bytea[]
      and headers is not distinct from ${before.headers}
      and delivery_keys is not distinct from ${before.delivery_keys}`);
}

/** Cancels the replays of an endpoint, which was deleted in the same transaction. It waits for a share under way. */
export async function cancelReplaysOf(db: Queryable, endpointId: string): Promise<void> {
  await db.query(sql`
    update replays set state = 'cancelled', error = 'Its endpoint was deleted', updated_at = now(), finished_at = now()
    where endpoint_id = ${endpointId} and state in ('running', 'paused')`);
}

/**
 * Forgets the place of a deleted endpoint's receiver. A poll under way has it locked, so the last statement sees all.
 */
export async function forgetPlace(db: Queryable, endpointId: string): Promise<void> {
  // A first poll has written the place, but nobody else sees it yet: this waits for it.
  await db.query(sql`
    insert into pull_places (endpoint_id, position) values (${endpointId}, 0) on conflict do nothing`);
  await db.query(sql`delete from pull_places where endpoint_id = ${endpointId}`);
  await db.query(sql`delete from pulled_deliveries where endpoint_id = ${endpointId}`);
}

import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Static } from 'typebox';
import type { Queryable } from '../../platform/postgres/database.ts';
import { advisoryLocks, isHeldLock } from '../../platform/postgres/locks.ts';
import { holdsText, instantText, maskedUrl } from '../../platform/postgres/sql-text.ts';
import type { attemptSchema, DeliveryRow, GroupRow } from '../contract.ts';
import {
  anyOf,
  isInAnswer,
  isInPayload,
  isOfType,
  isReportedAs,
  isReportedIn,
  ofDelivery,
  type SoughtInBoth,
} from '../find-queries.ts';
import { isBehind, neverDue } from '../order/queries.ts';
import { isPolled } from '../queries.ts';
import type { Scan } from '../scan.ts';
import {
  type DeadLetterStatus,
  type DeliveryStatus,
  deliveryStatuses,
  type FailureClass,
  type ShownOutcome,
} from '../values.ts';
import { rowOutcome } from './outcome-queries.ts';
import type { Silence, WaitFacts } from './waiting.ts';

/** The delivery that the delivery `d` waits for; it is looked up only where there is one. */
const waitsFor = sql`case when ${isBehind('d')} then (
    select nullif(k.head, '') from order_keys k where k.endpoint_id = d.endpoint_id and k.key = d.order_key
  ) end`;

/** The columns of `DeliveryRow`, from deliveries under the name d. */
export const deliveryColumns = sql`d.id, d.idempotency_key, ${maskedUrl('d.target')} as target, d.attempts, d.max_attempts,
  d.last_status, ${instantText(`nullif(d.next_attempt_at, ${neverDue.text})`)} as next_retry, d.error, d.failure_class,
  d.status, d.sequence, d.order_key, ${waitsFor} as waits_for,
  d.status in ('queued', 'pending') and exists (
    select from webhook_endpoints e where e.id = d.endpoint_id and not e.enabled
  ) as waits_for_endpoint,
  case when d.status in ('queued', 'pending') and not d.is_probe then (
    select ${instantText('e.paused_until')} from webhook_endpoints e
    where e.id = d.endpoint_id and e.enabled and e.paused_until > now()
  ) end as paused_until,
  d.tenant, d.endpoint_id, d.incident_id, d.event_type, d.job_id, ${instantText('d.created_at')} as created_at,
  ${instantText("case when d.replay_id is null or d.status <> 'queued' then d.last_attempt_at end")} as last_attempt_at,
  ${instantText('d.finished_at')} as finished_at,
  d.replay_of, d.replay_id`;
const listedColumns = raw(`lane, id, idempotency_key, target, attempts, max_attempts, last_status,
  next_attempt_at, error, failure_class, status, tenant, endpoint_id, incident_id, event_type, created_at,
  last_attempt_at, finished_at, replay_of, replay_id, job_id, is_probe, sequence, order_key, order_state`);

/** The rows that a list reads. An index holds them in the order of the list. */
export type RowSource = {
  /** The dead-letter queue is ordered by its last failure, the history by creation. */
  orderedBy: 'last_attempt_at' | 'created_at';
  /** Given with `last_attempt_at`, or of what a replay made: an index has these by status. */
  status?: DeliveryStatus | undefined;
  /** null means any tenant. The list is never empty. */
  tenants: readonly string[] | null;
  endpointId?: string | undefined;
  incidentId?: string | undefined;
  deliveryId?: { lane: number; id: string } | undefined;
  /** The days of `created_at`; both ends belong to them. */
  from?: string | undefined;
  to?: string | undefined;
  jobId?: string | undefined;
  /** The range of `last_attempt_at`; both ends belong to it. */
  failedFrom?: string | null | undefined;
  failedUntil?: string | undefined;
};

/** Filters that no index serves: the rows of the source are read and compared. */
export type Sought = SoughtInBoth & {
  outcome?: ShownOutcome | undefined;
  /** A part of the target or the error, or the beginning of the id or the idempotency key. */
  q?: string | undefined;
};

/** A row's place in the list: the time it is ordered by, then its id. */
export type RowKey = readonly [at: string, id: string];

type RowScan = Scan<RowKey> & { readonly descending: boolean };

export async function listRows(
  db: Queryable,
  source: RowSource,
  sought: Sought,
  scan: RowScan,
): Promise<DeliveryRow[]> {
  return db.query<DeliveryRow>(
    sql`${prelude(source)} select ${deliveryColumns} ${fromScan(source, sought, scan)}`,
  );
}

/** The place of a row, and what a bulk job needs to know of it. */
export type KeyRow = {
  at: string;
  lane: number;
  id: string;
  endpoint_id: string;
  incident_id: string;
  tenant: string;
  event_type: string;
  failure_class: FailureClass | null;
};

/** Reads the places of rows, without most of their other columns, for bulk jobs. */
export async function listKeys(db: Queryable, source: RowSource, scan: RowScan): Promise<KeyRow[]> {
  return db.query(sql`
    ${prelude(source)} select ${instantText(`d.${source.orderedBy}`)} as at, d.lane, d.id,
      d.endpoint_id, d.incident_id, d.tenant, d.event_type, d.failure_class
    from (${branches(source, scan)}) d order by ${order(source, scan)} limit ${scan.limit}`);
}

/** Finds the last of the `scanLimit` rows that a scan looked at; undefined when the list ended before. */
export async function findScanEnd(
  db: Queryable,
  source: RowSource,
  scan: RowScan,
): Promise<RowKey | undefined> {
  const rows = await db.query<{ at: string; id: string }>(sql`
    ${prelude(source)} select ${instantText(`d.${source.orderedBy}`)} as at, d.id
    from (${branches(source, scan)}) d order by ${order(source, scan)} offset ${(scan.scanLimit ?? scan.limit) - 1} limit 1`);
  return rows[0] === undefined ? undefined : [rows[0].at, rows[0].id];
}

/** The rows of a scan. With something sought, the limit of the scan is inside and that of the page outside. */
function fromScan(source: RowSource, sought: Sought, scan: RowScan): Sql {
  const rows = branches(source, scan);
  const by = order(source, scan);
  if (scan.scanLimit === null) return sql`from (${rows}) d order by ${by} limit ${scan.limit}`;
  return sql`from (select * from (${rows}) d order by ${by} limit ${scan.scanLimit}) d
    ${where(soughtConditions(sought))} order by ${by} limit ${scan.limit}`;
}

/** Reads the few deliveries that are asked for first. Seeing the limit, the planner could go through all history. */
function prelude(source: RowSource): Sql {
  if (!isFew(source)) return empty;
  const { incidentId, deliveryId } = source;
  const conditions: Sql[] = [];
  if (incidentId !== undefined) conditions.push(sql`incident_id = ${incidentId}`);
  if (deliveryId !== undefined) {
    conditions.push(sql`lane = ${deliveryId.lane}`, sql`id = ${deliveryId.id}`);
  }
  return sql`with history as materialized (
    select ${listedColumns} from deliveries ${where(conditions)})`;
}

const isFew = ({ incidentId, deliveryId }: RowSource) =>
  incidentId !== undefined || deliveryId !== undefined;

/**
 * One branch for each tenant, along its index: with `tenant = any(…)` PostgreSQL would read and sort all rows. Of what a
 * replay made, one for each status.
 */
function branches(source: RowSource, scan: RowScan): Sql {
  const table = raw(isFew(source) ? 'history' : 'deliveries');
  const conditions = sourceConditions(source, scan);
  const branch = (more: Sql[]) =>
    sql`select ${listedColumns} from ${table} d ${where([...more, ...conditions])}`;
  const limit = scan.scanLimit ?? scan.limit;
  const firstOfEach = (each: readonly Sql[], by = order(source, scan)) =>
    join(
      each.map((one) => sql`(${branch([one])} order by ${by} limit ${limit})`),
      ' union all ',
    );
  const { tenants, jobId, status } = source;
  // The rows of a job have an index of their own: seeing the limit, the planner could take that of the tenant.
  if (tenants !== null && jobId !== undefined) {
    conditions.push(sql`(tenant = any(${tenants})) is true`);
  }
  if (isReplay(jobId)) {
    const statuses = status === undefined ? deliveryStatuses : [status];
    const way = raw(scan.descending ? 'desc' : 'asc');
    const by = sql`replay_id ${way}, status ${way}, ${order(source, scan)}`;
    return firstOfEach(
      statuses.map((each) => isMade(jobId, each, scan)),
      by,
    );
  }
  if (tenants === null || jobId !== undefined) return branch([]);
  return firstOfEach(tenants.map((tenant) => sql`tenant = ${tenant}`));
}

export const isReplay = (jobId: string | undefined): jobId is string =>
  jobId?.startsWith('rpl_') === true;

/**
 * What a replay made that has one status, beyond the place of a scan. It is written as a range of the index that has these
 * rows in their order: seeing the limit, the planner took equality for a reason to go through all history instead.
 */
function isMade(replayId: string, status: DeliveryStatus, { after, descending }: RowScan): Sql {
  const [from, beyond, until] = descending ? ['>=', '<', '<='] : ['<=', '>', '>='];
  const end =
    after === null
      ? sql`(replay_id, status) ${raw(until)} (${replayId}, ${status})`
      : sql`(replay_id, status, created_at, id) ${raw(beyond)} (${replayId}, ${status}, ${after[0]}::timestamptz, ${after[1]})`;
  return sql`replay_id is not null and (replay_id, status) ${raw(from)} (${replayId}, ${status}) and ${end}`;
}

function sourceConditions(source: RowSource, scan: RowScan): Sql[] {
  const column = raw(source.orderedBy);
  const conditions: Sql[] = [];
  const { jobId, status } = source;
  if (status !== undefined && !isReplay(jobId)) conditions.push(isStatus(status));
  if (source.endpointId !== undefined) conditions.push(sql`endpoint_id = ${source.endpointId}`);
  conditions.push(...isReportedIn(source));
  if (jobId !== undefined && !isReplay(jobId)) conditions.push(sql`job_id = ${jobId}`);
  if (source.failedFrom) conditions.push(sql`last_attempt_at >= ${source.failedFrom}::timestamptz`);
  if (source.failedUntil !== undefined) {
    conditions.push(sql`last_attempt_at <= ${source.failedUntil}::timestamptz`);
  }
  if (scan.after !== null && !isReplay(jobId)) {
    const [at, id] = scan.after;
    const isBeyond = raw(scan.descending ? '<' : '>');
    conditions.push(sql`(${column}, id) ${isBeyond} (${at}::timestamptz, ${id})`);
  }
  return conditions;
}

/** The status is written out, because only then does PostgreSQL see that a partial index holds the rows. */
function isStatus(status: DeliveryStatus): Sql {
  return raw(`status = '${deliveryStatuses.find((known) => known === status)}'`);
}

function soughtConditions({ q, outcome, ...sought }: Sought): Sql[] {
  const { type, otherId, text } = sought;
  const conditions = ofDelivery(sought);
  if (type !== undefined) conditions.push(isOfType('d.event_type', type));
  if (otherId !== undefined) {
    const isIts = sql`d.idempotency_key = ${otherId}`;
    conditions.push(anyOf([isIts, isReportedAs('d.incident_id', otherId)]));
  }
  if (text !== undefined) {
    const places = [isInPayload('d.incident_id', text)];
    if (text.isInAnswers) places.push(isInAnswer(text));
    conditions.push(anyOf(places));
  }
  if (outcome !== undefined) {
    conditions.push(sql`exists (
      select from webhook_endpoints e where e.id = d.endpoint_id and ${rowOutcome} = ${outcome})`);
  }
  if (q !== undefined) {
    conditions.push(sql`(${holdsText(sql`d.target`, q)} or ${holdsText(sql`d.error`, q)}
      or starts_with(d.id, ${q}) or starts_with(d.idempotency_key, ${q}))`);
  }
  return conditions;
}

/** The order of a list, qualified: a bare created_at would mean the formatted column, which no index has. */
function order(source: RowSource, scan: RowScan): Sql {
  const way = scan.descending ? 'desc' : 'asc';
  return raw(`d.${source.orderedBy} ${way}, d.id ${way}`);
}

export type CountFilter = {
  statuses: readonly DeadLetterStatus[];
  tenants: readonly string[] | null;
  endpointId?: string | null | undefined;
  failureClass?: FailureClass | null | undefined;
};

export function countConditions(filter: CountFilter): Sql[] {
  const conditions = [sql`c.status = any(${filter.statuses})`, sql`c.count > 0`];
  if (filter.tenants !== null) conditions.push(sql`c.tenant = any(${filter.tenants})`);
  if (filter.endpointId) conditions.push(sql`c.endpoint_id = ${filter.endpointId}`);
  if (filter.failureClass) conditions.push(sql`c.failure_class = ${filter.failureClass}`);
  return conditions;
}

/** The number of rows in the dead-letter queue that a filter finds, read from the counters. */
export async function sumCounts(db: Queryable, filter: CountFilter): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select coalesce(sum(c.count), 0)::bigint as count from dead_letter_counts c
    ${where(countConditions(filter))}`);
  return rows[0]?.count ?? 0;
}

/** Lists the largest groups of one status. The first and the last failure are found by one look into an index each. */
export async function listGroups(
  db: Queryable,
  status: DeadLetterStatus,
  filter: CountFilter,
  limit: number,
): Promise<GroupRow[]> {
  const member = sql`d.endpoint_id = c.endpoint_id and d.${isStatus(status)} and d.failure_class = c.failure_class`;
  return db.query<GroupRow>(sql`
    select c.endpoint_id, c.tenant, ${maskedUrl('newest.target')} as target, c.failure_class, c.count,
      ${instantText('oldest.last_attempt_at')} as first_seen,
      ${instantText('newest.last_attempt_at')} as last_seen, newest.error
    from (
      select c.endpoint_id, c.tenant, c.failure_class, c.count from dead_letter_counts c
      ${where(countConditions(filter))}
      order by c.count desc, c.endpoint_id, c.failure_class limit ${limit}
    ) c
    cross join lateral (
      select d.last_attempt_at from deliveries d where ${member} order by d.last_attempt_at limit 1
    ) oldest
    cross join lateral (
      select d.last_attempt_at, d.target, d.error from deliveries d where ${member}
      order by d.last_attempt_at desc limit 1
    ) newest
    order by c.count desc, c.endpoint_id, c.failure_class`);
}

export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? empty : sql`where ${join([...conditions], ' and ')}`;
}

export async function findDelivery(
  db: Queryable,
  lane: number,
  id: string,
): Promise<DeliveryRow | undefined> {
  const rows = await db.query<DeliveryRow>(sql`
    select ${deliveryColumns} from deliveries d where d.lane = ${lane} and d.id = ${id}`);
  return rows[0];
}

type Sent = { body: string; payload_erased_at: string | null; request_id: string | null };

/** Finds what a delivery sends, and the facts that say why it waits. */
export async function findCircumstances(
  db: Queryable,
  lane: number,
  id: string,
): Promise<(WaitFacts & Sent) | undefined> {
  const rows = await db.query<WaitFacts & Sent>(sql`
    select incidents.body, ${instantText('incidents.erased_at')} as payload_erased_at, incidents.request_id,
      d.status, d.failure_class, d.attempts, d.max_attempts, d.held_by, d.is_probe,
      ${instantText('d.next_attempt_at')} as next_retry, d.order_key, ${waitsFor} as waits_for,
      coalesce(d.next_attempt_at > now(), false) as is_early,
      case when d.leased_until > now() then ${instantText('d.leased_until')} end as leased_until,
      coalesce(e.enabled, false) as is_enabled, coalesce(${isPolled}, false) as is_polled,
      (select ${instantText('polled_at')} from pull_places p where p.endpoint_id = e.id) as polled_at, e.disabled_reason, e.disabled_by,
      ${instantText('e.disabled_at')} as disabled_at,
      e.id is null or e.deleted_at is not null as is_deleted, e.rate_limit,
      coalesce(e.failures_in_row, 0) as failures_in_row,
      case when e.paused_until > now() then ${instantText('e.paused_until')} end as paused_until,
      case when e.throttled_until > now() then ${instantText('e.throttled_until')} end as throttled_until
    from deliveries d
    join incidents on incidents.id = d.incident_id
    left join webhook_endpoints e on e.id = d.endpoint_id
    where d.lane = ${lane} and d.id = ${id}`);
  return rows[0];
}

type AttemptRow = Omit<Static<typeof attemptSchema>, 'response'> & { response: Buffer | null };

export async function listAttempts(
  db: Queryable,
  lane: number,
  id: string,
  limit: number,
): Promise<AttemptRow[]> {
  return db.query<AttemptRow>(sql`
    select number, ${instantText('started_at')} as started_at, duration_ms, ${maskedUrl('target')} as target, status,
      failure_class, error, response, coalesce(response_bytes, octet_length(response)) as response_bytes
    from delivery_attempts where lane = ${lane} and delivery_id = ${id}
    order by number desc limit ${limit}`);
}

/** A session that was silent for longer than this does not answer. A drainer speaks every two seconds. */
const answersWithinSeconds = 6;

/** How many drainers answer, and, if the keeper of this lane does not, for how long it has been silent. */
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

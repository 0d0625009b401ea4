import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { maskUrl } from '../../kernel/mask-url.ts';
import { toKeyset, toPage } from '../../kernel/page.ts';
import type { AuditEntry } from '../../platform/audit.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { withHours } from '../hours.ts';
import * as queries from './queries.ts';

/** Who makes a change and by which request, for the audit log. */
export type Caller = Pick<AuditEntry, 'actor' | 'request'>;

/** One page of endpoints, in the order of tenant and id. Throws 400 `cursor_invalid`. */
export async function listEndpoints(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: { tenant?: string; include?: 'hours'; limit?: number; cursor?: string },
) {
  const { limit, cursor, tenant } = request;
  const page = { cursorKey, scope: { list: 'endpoints', filters: { tenant } }, limit, cursor };
  const rows = await queries.listEndpoints(db, { tenant, reach: actor.tenants }, toKeyset(page));
  const { data, next_cursor } = toPage(page, rows, (row) => [row.tenant, row.id]);
  const shown = data.map(listEndpoint);
  return {
    data: request.include === undefined ? shown : await withHours(db, shown, ({ id }) => id),
    next_cursor,
  };
}

/** The endpoint with this id. Throws 404 `endpoint_not_found`. */
export async function getEndpoint(db: Queryable, actor: Actor, id: string) {
  return showEndpoint(found(await queries.findEndpoint(db, toEndpointId(id), actor.tenants)));
}

/** An endpoint in the form that callers see. Its secrets are not part of the row. */
export function showEndpoint(row: queries.EndpointRow) {
  const { breaker_state, failures_in_row, paused_until, backlog_count, ...plain } = row;
  return {
    id: plain.id,
    tenant: plain.tenant,
    url: plain.url,
    description: plain.description,
    event_types: plain.event_types,
    health: plain.health,
    enabled: plain.enabled,
    disabled_reason: plain.disabled_reason,
    disabled_at: plain.disabled_at,
    disabled_by: plain.disabled_by,
    max_attempts: plain.max_attempts,
    retry_schedule: plain.retry_schedule,
    rate_limit: plain.rate_limit,
    disable_after_days: plain.disable_after_days,
    failing_since: plain.failing_since,
    breaker: { state: breaker_state, failures_in_row, paused_until },
    throttled_until: plain.throttled_until,
    backlog: {
      count: backlog_count,
      is_exact: backlog_count < queries.mostCounted,
      is_discarding: plain.is_discarding_backlog,
    },
    previous_secret_until: plain.previous_secret_until,
    created_at: plain.created_at,
    updated_at: plain.updated_at,
  };
}

/** An endpoint as lists show it. */
export function listEndpoint(row: queries.EndpointRow) {
  return { ...showEndpoint(row), url: maskUrl(row.url) };
}

/**
 * Returns the id if it has the form of an endpoint's id. Throws 404 `endpoint_not_found` otherwise, as for an id that
 * is unknown.
 */
export function toEndpointId(id: string): string {
  return /^ep_[0-9A-Za-z]{16}$/.test(id) ? id : found<string>(undefined);
}

/**
 * Returns the row. Throws 404 `endpoint_not_found` without one: unknown, deleted and out of the caller's reach look the
 * same, so that nobody learns which endpoints others have.
 */
export function found<T>(row: T | undefined): T {
  if (row !== undefined) return row;
  throw new AppError('endpoint_not_found', {
    detail:
      'There is no such webhook endpoint, or it is deleted. svcctl endpoints ls and GET /webhook/endpoints list them.',
  });
}

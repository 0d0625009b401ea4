import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../../kernel/cursor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { readMember } from '../../kernel/json-member.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import type { Payload } from './payload.ts';
import * as queries from './queries.ts';
import { reportIncident } from './report-incident.ts';

export function addIncidentRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.reportIncident, ({ body, actor, request }) => {
    const { source, repeated } = readMember(request.jsonText, 'data');
    // Which of them counts would be up to whoever reads the request.
    if (repeated !== undefined)
      throw invalidInput(`/${repeated}`, 'may stand in the body only once');
    return reportIncident(db, options, actor, { request: body, dataSource: source });
  });
  http.route(webhooksContract.listIncidents, ({ query, actor }) =>
    listIncidents(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getIncident, ({ params, actor }) =>
    getIncident(db, actor, params.id),
  );
}

/** One page of incidents, the newest first. Throws 400 `cursor_invalid`. */
async function listIncidents(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: { tenant?: string; limit?: number; cursor?: string },
) {
  const { limit = 100, cursor, tenant } = request;
  const scope: CursorScope = { list: 'incidents', filters: { tenant } };
  const position = cursor === undefined ? null : decodeCursor(cursorKey, scope, cursor);
  const [createdAt = '', id = ''] = position?.key ?? [];
  const before = position === null ? null : ([createdAt, id] as const);
  const rows = await queries.listIncidents(db, tenantsOf(actor, tenant), {
    before,
    limit: limit + 1,
  });
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    data: rows.slice(0, limit),
    next_cursor:
      last === undefined
        ? null
        : encodeCursor(cursorKey, scope, { direction: 'next', key: [last.created_at, last.id] }),
  };
}

/** An incident and its deliveries as they stand now. Throws 404 `incident_not_found`. */
async function getIncident(db: Queryable, actor: Actor, id: string) {
  const isId = /^inc_[0-9A-Za-z]{16}$/.test(id);
  const row = isId ? await queries.findIncident(db, id, actor.tenants) : undefined;
  if (row === undefined) {
    throw new AppError('incident_not_found', {
      detail: 'There is no incident with this id. GET /incidents lists them.',
    });
  }
  const { body, ...incident } = row;
  const { data }: Payload = JSON.parse(body);
  return { ...incident, data, deliveries: await queries.listDeliveriesOfIncident(db, id) };
}

/** Null = all. */
function tenantsOf(actor: Actor, tenant: string | undefined): readonly string[] | null {
  if (tenant === undefined) return actor.tenants;
  return mayTouchTenant(actor, tenant) ? [tenant] : [];
}

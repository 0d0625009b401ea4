import type { Actor } from '../../kernel/actor.ts';
import { mayTouchTenant } from '../../kernel/actor.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../../kernel/cursor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Payload } from './payload.ts';
import * as queries from './queries.ts';

/** One page of incidents, the newest first. Throws 400 `cursor_invalid`. */
export async function listIncidents(
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
export async function getIncident(db: Queryable, actor: Actor, id: string) {
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

import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { checkDayRange } from '../../kernel/day.ts';
import { cursorAfter, emptyPage, toKeyset } from '../../kernel/page.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { deliveryCountsSchema, IncidentRow, incidentsQuerySchema } from '../contract.ts';
import { scanPage } from '../scan.ts';
import { deliveryStatuses } from '../values.ts';
import * as queries from './queries.ts';

/**
 * One page of incidents, the newest first. With a type or a store the page may be short or empty although there is
 * more. Throws 400 `request_invalid` or `cursor_invalid`.
 */
export async function listIncidents(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: Static<typeof incidentsQuerySchema>,
) {
  const { limit, cursor, include, ...filters } = request;
  const { tenant, type, store, from, to } = filters;
  checkDayRange('?', { from, to });
  const page = { cursorKey, scope: { list: 'incidents', filters }, limit, cursor };
  const keyset = toKeyset<queries.IncidentKey>(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();
  const source = {
    tenants: tenant === undefined ? actor.tenants : [tenant],
    from,
    to,
    hasFailed: filters.deliveries === 'failed',
  };
  const sought = { type, store };
  const isSought = type !== undefined || store !== undefined;
  const read = (on: Queryable) =>
    scanPage(keyset, isSought, {
      read: (scan) => queries.listIncidents(on, source, sought, scan),
      findEnd: (scan) => queries.findScanEnd(on, source, scan),
      keyOf: (row): queries.IncidentKey => [row.created_at, row.id],
    });
  const { shown, readOn } = isSought
    ? await db.transaction(read, { isolation: 'repeatable read' })
    : await read(db);
  return {
    data: include === undefined ? shown : await withCounts(db, shown),
    next_cursor: cursorAfter(page, readOn),
  };
}

type DeliveryCounts = Static<typeof deliveryCountsSchema>;

/** The incidents, each with the number of its deliveries in each status. */
async function withCounts(
  db: Queryable,
  rows: readonly IncidentRow[],
): Promise<(IncidentRow & { delivery_counts: DeliveryCounts })[]> {
  const none = Object.fromEntries(deliveryStatuses.map((status) => [status, 0])) as DeliveryCounts;
  const counts = new Map(rows.map(({ id }) => [id, { ...none }]));
  const found = await queries.countDeliveries(
    db,
    rows.map(({ id }) => id),
  );
  for (const { incident_id: id, status, count } of found) {
    const own = counts.get(id);
    if (own !== undefined) own[status] = count;
  }
  return rows.map((row) => ({ ...row, delivery_counts: counts.get(row.id) ?? none }));
}

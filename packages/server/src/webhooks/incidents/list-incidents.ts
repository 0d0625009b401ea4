import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { checkDayRange } from '../../kernel/day.ts';
import { cursorAfter, emptyPage, toKeyset } from '../../kernel/page.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { deliveryCountsSchema, IncidentRow, incidentsQuerySchema } from '../contract.ts';
import { deliveryStatuses } from '../values.ts';
import * as queries from './read-queries.ts';

/** How many incidents one page looks at, at most, for a type or a store: no index serves these. */
const scanLimit = 10_000;

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
  const { shown, readOn } = await readRows(db, source, { type, store }, keyset);
  return {
    data: include === undefined ? shown : await withCounts(db, shown),
    next_cursor: cursorAfter(page, readOn),
  };
}

/** The rows of a page, and the key to read on from if there may be more. */
async function readRows(
  db: Database,
  source: queries.IncidentSource,
  sought: queries.SoughtIncidents,
  { after, limit }: { after: queries.IncidentKey | null; limit: number },
): Promise<{ shown: IncidentRow[]; readOn: queries.IncidentKey | undefined }> {
  const cut = (found: IncidentRow[]) => {
    const shown = found.slice(0, limit - 1);
    const last = found.length < limit ? undefined : shown.at(-1);
    return { shown, readOn: last && ([last.created_at, last.id] as const) };
  };
  const isSought = sought.type !== undefined || sought.store !== undefined;
  const scan = { after, limit, scanLimit: isSought ? scanLimit : limit };
  if (!isSought) return cut(await queries.listIncidents(db, source, sought, scan));
  // Both statements need one snapshot: an incident that commits in between would move the end of the scan.
  return db.transaction(
    async (connection) => {
      const { shown, readOn } = cut(await queries.listIncidents(connection, source, sought, scan));
      if (readOn !== undefined) return { shown, readOn };
      return { shown, readOn: await queries.findScanEnd(connection, source, scan) };
    },
    { isolation: 'repeatable read' },
  );
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

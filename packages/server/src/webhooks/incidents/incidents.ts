import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { cursorAfter, emptyPage, toKeyset } from '../../kernel/page.ts';
import { readTimeRange } from '../../kernel/time-range.ts';
import type { Handler } from '../../platform/http/add-route.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import {
  type deliveryCountsSchema,
  type IncidentRow,
  type incidentsQuerySchema,
  type listedIncidentSchema,
  webhooksContract,
} from '../contract.ts';
import { Catalogue } from '../event-types/catalogue.ts';
import { foundNothing, namedBy, searchKindOf, soughtText } from '../find.ts';
import { listMissing } from '../hold-back-queries.ts';
import type { WebhookOptions } from '../options.ts';
import { scanPage } from '../scan.ts';
import { deliveryStatuses } from '../values.ts';
import { eraseIncident } from './erase.ts';
import * as queries from './queries.ts';
import { createReportIncident, type Payload } from './report-incident.ts';
import { addReportRoute } from './report-route.ts';
import { tryFilter } from './try-filter.ts';

export function addIncidentRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  const { clock, log, eventTypes: mode } = options;
  const catalogue = new Catalogue(db, { clock, log, mode });
  addReportRoute(http, createReportIncident(db, { ...options, catalogue }), options);
  http.route(webhooksContract.testFilter, ({ body, actor, request: { jsonText } }) =>
    tryFilter(db, actor, body, { jsonText, nowMillis: options.clock() }),
  );
  http.route(webhooksContract.listIncidents, ({ query, actor }) =>
    listIncidents(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getIncident, ({ params, actor }) =>
    getIncident(db, actor, params.id),
  );
  const eraseOne: Handler<typeof webhooksContract.eraseIncident> = async ({
    params,
    actor,
    request,
  }) => {
    const { id, tenant } = await getIncident(db, actor, params.id);
    await options.refuseHold(db, tenant);
    const { erased, remains } = await eraseIncident(db, id, {
      deliveryDays: options.deliveryDays,
      write: (connection, after) =>
        options.audit(connection, {
          actor,
          request,
          action: 'incident.erase',
          target: id,
          tenant,
          after,
        }),
    });
    const { erased_at: at } = await getIncident(db, actor, id);
    return { id, tenant, erased_at: at ?? '', erased, remains };
  };
  http.route(webhooksContract.eraseIncident, eraseOne, async ({ params, actor }) => {
    const { id, tenant } = await findOrRefuse(db, actor, params.id);
    await options.refuseHold(db, tenant);
    const says = `Erases what the incident ${id} of ${tenant} tells.`;
    return { acts: ['erase'], tenant, says, about: { id } };
  });
}

/** An incident and its deliveries as they are now. Throws 404 `incident_not_found`. */
async function getIncident(db: Queryable, actor: Actor, id: string) {
  const { body, ...incident } = await findOrRefuse(db, actor, id);
  const { data }: Payload = JSON.parse(body);
  return { ...incident, data, body, deliveries: await queries.listDeliveriesOfIncident(db, id) };
}

/** An incident within reach. Throws 404 `incident_not_found`. */
export async function findOrRefuse(db: Queryable, { tenants }: Pick<Actor, 'tenants'>, id: string) {
  const isId = /^inc_[0-9A-Za-z]{16}$/.test(id);
  const row = isId ? await queries.findIncident(db, id, tenants) : undefined;
  if (row !== undefined) return row;
  throw new AppError('incident_not_found', {
    detail: 'There is no incident with this id. svcctl incidents ls and GET /incidents list them.',
  });
}

/**
 * One page of incidents, the newest first. With a filter that no index serves the page may be short or empty although
 * there is more. Throws 400 `request_invalid` or `cursor_invalid`.
 */
export async function listIncidents(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: Static<typeof incidentsQuerySchema>,
) {
  const { limit, cursor, include, ...filters } = request;
  const { tenant, type, store, endpoint_id } = filters;
  const times = readTimeRange(filters);
  const page = { cursorKey, scope: { list: 'incidents', filters }, limit, cursor };
  const keyset = toKeyset<queries.IncidentKey>(page);
  const named = namedBy({ id: filters.id, endpoint_id });
  const isOut = tenant !== undefined && !mayTouchTenant(actor, tenant);
  if (named === null || isOut) return { ...emptyPage(), ...foundNothing };
  const { incidentId: id, deliveryId, endpointId, otherId } = named;
  const source = {
    tenants: tenant === undefined ? actor.tenants : [tenant],
    id,
    deliveryId,
    ...times,
    hasFailed: filters.deliveries === 'failed',
  };
  const sought = {
    type,
    store,
    endpointId,
    otherId,
    text: soughtText(filters.text, actor),
    status: filters.delivery_status,
    failureClass: filters.failure_class,
    code: filters.last_status,
  };
  const search = searchKindOf(sought);
  const read = (on: Queryable) =>
    scanPage(keyset, search, {
      read: (scan) => queries.listIncidents(on, source, sought, scan),
      findEnd: (scan) => queries.findScanEnd(on, source, scan),
      keyOf: (row): queries.IncidentKey => [row.created_at, row.id],
    });
  const { shown, readOn, searchedTo } =
    search === 'none'
      ? await read(db)
      : await db.transaction(read, { isolation: 'repeatable read' });
  return {
    data: include === undefined ? shown : await withCounts(db, shown),
    next_cursor: cursorAfter(page, readOn),
    total: cursor === undefined && readOn === undefined ? shown.length : null,
    searched_to: searchedTo?.[0] ?? null,
  };
}

type ListedIncident = Static<typeof listedIncidentSchema>;
type DeliveryCounts = Static<typeof deliveryCountsSchema>;

/** So much of an excerpt is shown, and so much of a body is read for it: its type has 128 characters at most. */
const [mostShown, mostRead] = [160, 400];

/** How the data of a body begins, that was made by `payloadText`. */
function excerptOf(begins: string): string {
  const isWhole = begins.length < mostRead;
  const data = begins.slice(begins.indexOf(',"data":') + 8, isWhole ? -1 : undefined);
  // Half a surrogate pair would be no character.
  return data.slice(0, mostShown).replace(/[\ud800-\udbff]$/, '');
}

/**
 * The incidents, each with the number of its deliveries in each status, the endpoints that still miss it, and what it is
 * about.
 */
async function withCounts(db: Queryable, rows: readonly IncidentRow[]): Promise<ListedIncident[]> {
  const none = Object.fromEntries(deliveryStatuses.map((status) => [status, 0])) as DeliveryCounts;
  const counts = new Map(rows.map(({ id }) => [id, { ...none }]));
  const ids = rows.map(({ id }) => id);
  const found = await queries.countDeliveries(db, ids);
  const held = new Map((await listMissing(db, ids)).map(({ id, missing }) => [id, missing]));
  const about = new Map(
    (await queries.listBeginnings(db, ids, mostRead)).map((row) => [row.id, row]),
  );
  for (const { incident_id: id, status, count } of found) {
    const own = counts.get(id);
    if (own !== undefined) own[status] = count;
  }
  return rows.map((row) => {
    const { group, begins } = about.get(row.id) ?? { group: null, begins: null };
    return {
      ...row,
      delivery_counts: counts.get(row.id) ?? none,
      held_back: held.get(row.id) ?? [],
      group,
      excerpt: begins === null ? null : excerptOf(begins),
    };
  });
}

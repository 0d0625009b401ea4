import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import { compactMember } from '../../kernel/json-slices.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { eraseIncident } from './erase.ts';
import { listIncidents } from './list-incidents.ts';
import * as queries from './queries.ts';
import type { Payload } from './report-incident.ts';
import { createReportIncident } from './report-incident.ts';

export function addIncidentRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  const reportIncident = createReportIncident(db, options);
  http.route(webhooksContract.reportIncident, ({ body, actor, request }) => {
    // The data is taken from the request's text, because JSON.parse would change large numbers.
    const dataSource = compactMember(request.jsonText, 'data');
    const { id: requestId, traceParent } = request;
    return reportIncident(actor, { request: body, dataSource, requestId, traceParent });
  });
  http.route(webhooksContract.listIncidents, ({ query, actor }) =>
    listIncidents(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getIncident, ({ params, actor }) =>
    getIncident(db, actor, params.id),
  );
  http.route(webhooksContract.eraseIncident, async ({ params, actor, request }) => {
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
  });
}

/** An incident and its deliveries as they are now. Throws 404 `incident_not_found`. */
async function getIncident(db: Queryable, actor: Actor, id: string) {
  const isId = /^inc_[0-9A-Za-z]{16}$/.test(id);
  const row = isId ? await queries.findIncident(db, id, actor.tenants) : undefined;
  if (row === undefined) {
    throw new AppError('incident_not_found', {
      detail:
        'There is no incident with this id. svcctl incidents ls and GET /incidents list them.',
    });
  }
  const { body, ...incident } = row;
  const { data }: Payload = JSON.parse(body);
  return { ...incident, data, body, deliveries: await queries.listDeliveriesOfIncident(db, id) };
}

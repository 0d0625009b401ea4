import { memberSource } from '../../kernel/json-member.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { getIncident, listIncidents } from './incidents.ts';
import { reportIncident } from './report-incident.ts';

export function addIncidentRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.reportIncident, ({ body, actor, request }) =>
    reportIncident(db, options, actor, {
      request: body,
      dataSource: memberSource(request.jsonText, 'data'),
    }),
  );
  http.route(webhooksContract.listIncidents, ({ query, actor }) =>
    listIncidents(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getIncident, ({ params, actor }) =>
    getIncident(db, actor, params.id),
  );
}

import { invalidInput } from '../../kernel/errors.ts';
import { readMember } from '../../kernel/json-member.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import { getIncident, listIncidents } from './incidents.ts';
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

import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { addDeadLetterRoutes } from './dead-letters/routes.ts';
import { addOrderRoutes } from './endpoints/blocked.ts';
import { addEndpointRoutes } from './endpoints/routes.ts';
import { addEventTypeRoutes } from './event-types/event-types.ts';
import { addHourRoutes } from './hours.ts';
import { addIncidentRoutes } from './incidents/incidents.ts';
import type { WebhookOptions } from './options.ts';
import { addPullRoutes } from './pull/poll.ts';
import { addReplayRoutes } from './replays/routes.ts';

/** Adds all routes of the webhooks feature to the server. */
export function addWebhookRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  addEndpointRoutes(http, db, options);
  addEventTypeRoutes(http, db, options);
  addOrderRoutes(http, db, options);
  addIncidentRoutes(http, db, options);
  addDeadLetterRoutes(http, db, options);
  addReplayRoutes(http, db, options);
  addPullRoutes(http, db, options);
  addHourRoutes(http, db);
}

import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import {
  changeEndpoint,
  deleteEndpoint,
  discardBacklogOf,
  rotateSecret,
} from './change-endpoint.ts';
import { createEndpoint } from './create-endpoint.ts';
import { getEndpoint, listEndpoints } from './endpoints.ts';
import { pingEndpoint } from './ping-endpoint.ts';

export function addEndpointRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.createEndpoint, ({ body, actor, request }) =>
    createEndpoint(db, options, { actor, request }, body),
  );
  http.route(webhooksContract.listEndpoints, ({ query, actor }) =>
    listEndpoints(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getEndpoint, ({ params, actor }) =>
    getEndpoint(db, actor, params.id),
  );
  http.route(webhooksContract.changeEndpoint, ({ params, body, actor, request }) =>
    changeEndpoint(db, options, { actor, request }, { id: params.id, change: body }),
  );
  http.route(webhooksContract.discardBacklog, ({ params, actor, request }) =>
    discardBacklogOf(db, options, { actor, request }, params),
  );
  http.route(webhooksContract.deleteEndpoint, async ({ params, actor, request, reply }) => {
    await deleteEndpoint(db, options, { actor, request }, params);
    return reply.send();
  });
  http.route(webhooksContract.rotateSecret, ({ params, actor, request }) =>
    rotateSecret(db, options, { actor, request }, params),
  );
  http.route(webhooksContract.pingEndpoint, ({ params, actor, request }) =>
    pingEndpoint(db, options, { actor, request }, params),
  );
}

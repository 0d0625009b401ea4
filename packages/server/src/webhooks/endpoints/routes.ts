import type { HttpServer } from '../../platform/http/server.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { webhooksContract } from '../contract.ts';
import type { WebhookOptions } from '../options.ts';
import {
  changeEndpoint,
  deleteEndpoint,
  discardBacklogOf,
  endOldSecretsOf,
  rotateSecret,
} from './change-endpoint.ts';
import { createEndpoint } from './create-endpoint.ts';
import { getEndpoint, listEndpoints } from './endpoints.ts';
import { pingEndpoint } from './ping-endpoint.ts';

export function addEndpointRoutes(http: HttpServer, db: Database, options: WebhookOptions): void {
  http.route(webhooksContract.createEndpoint, (call) => createEndpoint(db, options, call));
  http.route(webhooksContract.listEndpoints, ({ query, actor }) =>
    listEndpoints(db, options.cursorKey(), actor, query),
  );
  http.route(webhooksContract.getEndpoint, ({ params, query, actor }) =>
    getEndpoint(db, actor, params.id, query),
  );
  http.route(webhooksContract.changeEndpoint, (call) => changeEndpoint(db, options, call));
  http.route(webhooksContract.discardBacklog, (call) => discardBacklogOf(db, options, call));
  http.route(webhooksContract.deleteEndpoint, async (call) => {
    await deleteEndpoint(db, options, call);
    return call.reply.send();
  });
  http.route(webhooksContract.rotateSecret, (call) => rotateSecret(db, options, call));
  http.route(webhooksContract.endOldSecrets, (call) => endOldSecretsOf(db, options, call));
  http.route(webhooksContract.pingEndpoint, (call) => pingEndpoint(db, options, call));
}

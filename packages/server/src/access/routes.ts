import type { Clock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { accessContract } from './contract.ts';
import { listLiveTokens } from './queries.ts';
import { createToken, revokeToken } from './tokens.ts';

export function addAccessRoutes(http: HttpServer, db: Database, clock: Clock): void {
  http.route(accessContract.whoAmI, async ({ actor }) => ({
    name: actor.name,
    scopes: actor.scopes,
    tenants: actor.tenants,
    expires_at: actor.expiresAt,
  }));
  http.route(accessContract.createToken, ({ body }) => createToken(db, body, clock()));
  http.route(accessContract.listTokens, async () => ({
    data: await listLiveTokens(db),
    next_cursor: null,
  }));
  http.route(accessContract.revokeToken, async ({ params, reply }) => {
    await revokeToken(db, params.id);
    return reply.send();
  });
}

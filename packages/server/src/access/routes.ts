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
  http.route(accessContract.createToken, ({ body, actor }) =>
    createToken(db, body, { tenants: actor.tenants, nowMillis: clock() }),
  );
  http.route(accessContract.listTokens, async ({ actor }) => ({
    data: await listLiveTokens(db, actor.tenants),
    next_cursor: null,
  }));
  http.route(accessContract.revokeToken, async ({ params, actor, reply }) => {
    await revokeToken(db, params.id, actor);
    return reply.send();
  });
}

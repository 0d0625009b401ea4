import type { Actor } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { accessContract } from './contract.ts';
import { listLiveTokens } from './queries.ts';
import { closeSession, openSession } from './sessions.ts';
import { createToken, revokeToken } from './tokens.ts';

export function addAccessRoutes(http: HttpServer, db: Database, clock: Clock): void {
  http.route(accessContract.signIn, async ({ body, request, reply }) => {
    const { cookie, actor } = await openSession(db, body, request.protocol === 'https');
    reply.header('set-cookie', cookie);
    return actorAnswer(actor);
  });
  http.route(accessContract.signOut, async ({ request, reply }) => {
    reply.header('set-cookie', await closeSession(db, request.headers));
    return reply.send();
  });
  http.route(accessContract.whoAmI, async ({ actor }) => actorAnswer(actor));
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

function actorAnswer({ name, scopes, tenants, expiresAt }: Actor) {
  return { name, scopes, tenants, expires_at: expiresAt };
}

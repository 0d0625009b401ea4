import { type Actor, requireAllTenants } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Audit } from '../platform/audit.ts';
import { type HttpServer, untilGone } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { listAuditLog } from './audit.ts';
import { verifyAuditLog } from './audit-chain.ts';
import { accessContract } from './contract.ts';
import type { SignInGuard } from './limits.ts';
import { listLiveTokens } from './queries.ts';
import {
  closeSession,
  confirmSession,
  endSession,
  listSessions,
  openSession,
  type PublicUrl,
  sessionHash,
  signOutEverywhere,
} from './sessions.ts';
import { createToken, describeToken, revokeToken } from './tokens.ts';

export type AccessOptions = {
  readonly clock: Clock;
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  readonly guard: SignInGuard;
  readonly publicUrl?: PublicUrl;
};

/**
 * Adds the routes of sessions, tokens and the audit log. What changes a token and its entry in the audit log share a
 * transaction.
 */
export function addAccessRoutes(http: HttpServer, db: Database, options: AccessOptions): void {
  const { audit, clock, cursorKey, guard, publicUrl } = options;
  http.route(accessContract.signIn, async ({ body, request, reply }) => {
    const { cookie, actor } = await guard.attempt(request, () =>
      openSession(db, body, { request, audit, publicUrl }),
    );
    reply.header('set-cookie', cookie);
    return actorAnswer(actor);
  });
  http.route(accessContract.signOut, async ({ request, reply }) => {
    reply.header('set-cookie', await closeSession(db, { request, audit, publicUrl }));
    return reply.send();
  });
  http.route(accessContract.confirmSession, async ({ body, actor, request }) => ({
    confirmed_until: await guard.attempt(
      request,
      () => confirmSession(db, body.token, { actor, request, audit, publicUrl }),
      actor.session && sessionHash(request, publicUrl),
    ),
  }));
  http.route(accessContract.whoAmI, async ({ actor }) => actorAnswer(actor));
  http.route(accessContract.createToken, ({ body, actor, request }) =>
    db.transaction(async (connection) => {
      const made = await createToken(connection, body, { creator: actor, nowMillis: clock() });
      await audit(connection, {
        actor,
        request,
        action: 'token.create',
        target: made.id,
        tenants: made.tenants,
        after: describeToken(made),
      });
      return made;
    }),
  );
  http.route(accessContract.listTokens, async ({ actor }) => ({
    data: await listLiveTokens(db, actor.tenants),
    next_cursor: null,
  }));
  http.route(accessContract.revokeToken, async ({ params, actor, request, reply }) => {
    await db.transaction(async (connection) => {
      for (const revoked of await revokeToken(connection, params.id, actor)) {
        await audit(connection, {
          actor,
          request,
          action: 'token.revoke',
          target: revoked.id,
          tenants: revoked.tenants,
          before: describeToken(revoked),
          ...(revoked.id !== params.id && { after: { revoked_with: params.id } }),
        });
      }
    });
    return reply.send();
  });
  http.route(accessContract.listSessions, async ({ actor, request }) => ({
    data: await listSessions(db, { actor, request, publicUrl }),
    next_cursor: null,
  }));
  http.route(accessContract.endSession, async ({ params, actor, request, reply }) => {
    await endSession(db, params.id, { actor, request, audit });
    return reply.send();
  });
  http.route(accessContract.endOwnSessions, async ({ actor, request, reply }) => {
    const cookie = await signOutEverywhere(db, { actor, request, audit, publicUrl });
    return reply.header('set-cookie', cookie).send();
  });
  http.route(accessContract.listAuditLog, ({ query, actor }) =>
    listAuditLog(db, cursorKey(), actor, query),
  );
  http.route(accessContract.verifyAuditLog, async ({ body, actor, reply }) => {
    requireAllTenants(
      actor,
      'A token limited to tenants cannot verify the audit log, which is one chain for all.',
    );
    return verifyAuditLog(db, untilGone(reply), body);
  });
}

function actorAnswer({ name, scopes, tenants, expiresAt, session }: Actor) {
  const confirmed_until = session?.confirmedUntil ?? null;
  return { name, scopes, tenants, expires_at: expiresAt, confirmed_until };
}

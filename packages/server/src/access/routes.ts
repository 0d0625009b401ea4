import { requireAllTenants } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Audit } from '../platform/audit.ts';
import { type HttpServer, untilGone } from '../platform/http/server.ts';
import { callbackPath } from '../platform/identity-server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { addApprovalRoutes } from './approvals.ts';
import { listAuditLog } from './audit.ts';
import { verifyAuditLog } from './audit-chain.ts';
import { accessContract } from './contract.ts';
import { refuseForeignOrigin } from './cookies.ts';
import type { SignInGuard } from './limits.ts';
import { beginSignIn, forgetSignIn } from './people.ts';
import { addPortalRoutes } from './portal.ts';
import { awaitTokenChecks, listLiveTokens } from './queries.ts';
import { addSavedViewRoutes } from './saved-views.ts';
import type { Sealer } from './seal-audit.ts';
import {
  closeSession,
  confirmSession,
  endSession,
  listSessions,
  openSession,
  ownSession,
  required,
  type SessionOptions,
  sessionHash,
  signOutEverywhere,
} from './sessions.ts';
import {
  actorAnswer,
  createToken,
  describeToken,
  revokeToken,
  rotateToken,
  secretOf,
} from './tokens.ts';

type AccessOptions = SessionOptions & {
  readonly clock: Clock;
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  readonly guard: SignInGuard;
  /** Days after which a token that a person made expires at the latest; 0 = whenever they say. */
  readonly personTokenDays: number;
  /** No token lives longer; 0: as long as its maker says. */
  readonly tokenDays: number;
  /** Acts that one asks for and another confirms. */
  readonly fourEyes: readonly string[];
  /** Whether pages of other sites may have the portal in a frame. */
  readonly isFramed: boolean;
  /** Who seals the audit log. Throws 503 `not_ready` while the service starts. */
  readonly sealer: () => Sealer;
};

/** Adds the routes of access. What changes a token and its entry in the audit log share a transaction. */
export function addAccessRoutes(http: HttpServer, db: Database, options: AccessOptions): void {
  const { audit, clock, cursorKey, publicUrl, personTokenDays, tokenDays, sealer } = options;
  addSessionRoutes(http, db, options);
  addPortalRoutes(http, db, options);
  addApprovalRoutes(http, db, options);
  addSavedViewRoutes(http, db, audit);
  http.route(accessContract.whoAmI, async ({ actor }) => actorAnswer(actor));
  http.route(accessContract.createToken, ({ body, actor, request }) =>
    db.transaction(async (connection) => {
      const made = await createToken(connection, body, {
        creator: actor,
        nowMillis: clock(),
        personTokenDays,
        tokenDays,
      });
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
  http.route(accessContract.listTokens, async ({ actor, query }) => ({
    data: await listLiveTokens(db, {
      reach: actor.tenants,
      unusedDays: query.unused_days,
      vouchDays: options.vouchDays,
    }),
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
    await awaitTokenChecks(db);
    return reply.send();
  });
  http.route(accessContract.rotateToken, async ({ params, body, actor, request }) => {
    const made = await db.transaction(async (connection) => {
      const rotated = await rotateToken(connection, params.id, {
        actor,
        secret: actor.session ? null : (secretOf(request.headers.authorization) ?? null),
        session: ownSession({ actor, request, publicUrl }),
        overlapSeconds: body.overlap_seconds ?? 86_400,
        isOneOfTwo: options.fourEyes.length > 0,
      });
      const { id, tenants, overlap_until } = rotated;
      const after = { overlap_until };
      await audit(connection, {
        actor,
        request,
        action: 'token.rotate',
        target: id,
        tenants,
        after,
      });
      return rotated;
    });
    await awaitTokenChecks(db);
    return made;
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
    return verifyAuditLog(db, body, { sealer: sealer(), signal: untilGone(reply) });
  });
}

/** How one signs in, confirms and signs out. */
function addSessionRoutes(http: HttpServer, db: Database, options: AccessOptions): void {
  const { audit, guard, publicUrl, idleSeconds, vouchDays, people } = options;
  const sessions = { publicUrl, idleSeconds, vouchDays, people };
  http.route(accessContract.listSignIns, async () => ({
    identity: people && { name: people.name },
  }));
  // The page takes the answer along by a call of its own, which the browser sends its cookies with. It leads nowhere else,
  // whatever the answer says.
  http.fastify.get(callbackPath, async ({ url }, reply) => {
    const answer = encodeURIComponent(url.slice(callbackPath.length + 1));
    return reply
      .header('referrer-policy', 'no-referrer')
      .redirect(`/#/sign-in?answer=${answer}`, 303);
  });
  http.route(accessContract.beginSignIn, async ({ body, request, reply }) => {
    refuseForeignOrigin(request.headers, publicUrl);
    const visit = { request, publicUrl };
    const { url, cookie } = await beginSignIn(required(people), body.purpose, visit);
    reply.header('set-cookie', cookie);
    return { url };
  });
  http.route(accessContract.signIn, async ({ body, request, reply }) => {
    if (body.answer !== undefined) {
      reply.header('set-cookie', forgetSignIn({ request, publicUrl }));
    }
    const { cookie, actor } = await guard.attempt(request, () =>
      openSession(db, body, { request, audit, ...sessions }),
    );
    reply.header('set-cookie', cookie);
    return actorAnswer(actor);
  });
  http.route(accessContract.signOut, async ({ request, reply }) => {
    const { cookie, endUrl } = await closeSession(db, { request, audit, ...sessions });
    reply.header('set-cookie', cookie);
    return endUrl === null ? reply.status(204).send() : { url: endUrl };
  });
  http.route(accessContract.confirmSession, async ({ body, actor, request, reply }) => {
    if (body.answer !== undefined) {
      reply.header('set-cookie', forgetSignIn({ request, publicUrl }));
    }
    const until = await guard.attempt(
      request,
      () => confirmSession(db, body, { actor, request, audit, ...sessions }),
      actor.session && sessionHash(request, publicUrl),
    );
    return { confirmed_until: until };
  });
}

import type { FastifyRequest } from 'fastify';
import { type Actor, assertReach, requireCurrentSecret, requireScope } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret, newId, randomText } from '../kernel/ids.ts';
import type { Audit } from '../platform/audit.ts';
import { clientAddress } from '../platform/http/client-address.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { refuseHiddenNames } from '../platform/postgres/known-names.ts';
import { userAgentOf } from './audit.ts';
import {
  type Credentials,
  cookieText,
  type PublicUrl,
  readCookie,
  refuseForeignOrigin,
} from './cookies.ts';
import type { SignInGuard } from './limits.ts';
import { type NewPortalLink, portalContract } from './portal.contract.ts';
import * as queries from './portal-queries.ts';
import { actorAnswer } from './tokens.ts';
import { portalHeader } from './values.ts';

const cookie = 'svc_portal';
const linkPrefix = 'plk';
const usualSeconds = 3600;

type PortalOptions = {
  readonly audit: Audit;
  readonly guard: SignInGuard;
  readonly publicUrl?: PublicUrl;
  /** Whether pages of other sites may have the portal in a frame. */
  readonly isFramed: boolean;
};

/** Adds the routes by which people of a tenant are let into the portal. */
export function addPortalRoutes(http: HttpServer, db: Database, options: PortalOptions): void {
  http.route(portalContract.createPortalLink, (call) => createLink(db, options, call));
  http.route(portalContract.listPortalLinks, async ({ query, actor }) => {
    const { tenant } = query;
    refuseVisitor(actor);
    return {
      data: await queries.listPortalLinks(db, { reach: actor.tenants, tenant }),
      next_cursor: null,
    };
  });
  http.route(portalContract.revokePortalLink, async (call) => {
    refuseVisitor(call.actor);
    await revokeLink(db, options, { ...call, id: call.params.id });
    return call.reply.send();
  });
  http.route(portalContract.openPortal, async ({ body, request, reply }) => {
    refuseForeignOrigin(request.headers, options.publicUrl);
    const opened = await options.guard.attempt(request, () =>
      openLink(db, options, { code: body.code, request }),
    );
    reply.header('set-cookie', opened.cookie);
    return actorAnswer(opened.actor);
  });
  http.route(portalContract.closePortal, async ({ request, reply }) => {
    const { publicUrl, isFramed } = options;
    const actor = await findVisitor(db, request, publicUrl).catch(ignoreEnded);
    if (actor !== undefined) await revokeLink(db, options, { actor, request, id: actor.tokenId });
    reply.header('set-cookie', cookieText(cookie, '', { maxAge: 0, request, publicUrl, isFramed }));
    return reply.send();
  });
}

/**
 * Returns who is in the portal by the session of a request; undefined where the request does not say that it comes from
 * there. Another site may frame the portal, and then the browser sends its cookie along with whatever that site asks
 * for. So the cookie counts only beside a header that no other site's page can send, and only from our own origin.
 * Throws 401 `portal_ended` and 403 `cross_site_refused`.
 */
export async function findVisitor(
  db: Database,
  request: Credentials,
  publicUrl: PublicUrl,
): Promise<Actor | undefined> {
  if (request.headers[portalHeader] === undefined) return undefined;
  refuseForeignOrigin(request.headers, publicUrl);
  const secret = readCookie(cookie, request, publicUrl);
  const found =
    secret === undefined ? undefined : await queries.findPortalVisit(db, hashSecret(secret));
  if (found !== undefined) return visitorOf(found);
  throw new AppError('portal_ended', {
    detail: 'Go back to where you came from, and open the webhooks from there again.',
  });
}

/** Somebody who came by a link. They are named by it, so that the audit log tells them apart. */
function visitorOf({ id, tenant, scope, subject, expires_at }: queries.PortalVisit): Actor {
  const name = subject === null ? `portal of ${tenant}` : `portal of ${tenant}: ${subject}`;
  return { tokenId: id, name, scopes: [scope], tenants: [tenant], expiresAt: expires_at };
}

export function isVisitor({ tokenId }: Actor): boolean {
  return tokenId.startsWith(`${linkPrefix}_`);
}

/** Whoever is in the portal would otherwise stay there for ever, by one link after the other. */
function refuseVisitor(actor: Actor): void {
  if (!isVisitor(actor)) return;
  throw new AppError('scope_missing', {
    detail: 'A session of the portal neither makes nor ends links. Use an access token.',
  });
}

type Call = { readonly actor: Actor; readonly request: FastifyRequest };

async function createLink(
  db: Database,
  { audit, publicUrl }: PortalOptions,
  { actor, request, body }: Call & { readonly body: NewPortalLink },
) {
  const { tenant, scope = 'webhooks:manage', subject = null, seconds = usualSeconds } = body;
  refuseVisitor(actor);
  requireCurrentSecret(actor);
  requireScope(actor, scope);
  assertReach(actor, tenant);
  await refuseHiddenNames(db, '/tenant', [{ tenant }]);
  const code = randomText(43);
  const link = { id: newId(linkPrefix), hash: hashSecret(code), makerId: actor.tokenId };
  const made = await db.transaction(async (connection) => {
    const row = await queries.insertPortalLink(connection, {
      ...link,
      tenant,
      scope,
      subject,
      seconds,
    });
    const after = { tenant, scope, subject, expires_at: row.expires_at };
    const entry = { actor, request, action: 'portal_link.create', target: link.id, tenant, after };
    await audit(connection, entry);
    return row;
  });
  const origin = publicUrl ?? `${request.protocol}://${request.headers.host}`;
  return { ...made, url: `${origin}/portal#/open?code=${code}` };
}

async function revokeLink(
  db: Database,
  { audit }: Pick<PortalOptions, 'audit'>,
  { actor, request, id }: Call & { readonly id: string },
): Promise<void> {
  await db.transaction(async (connection) => {
    const isId = /^plk_[0-9A-Za-z]{16}$/.test(id);
    const revoked = isId
      ? await queries.revokePortalLink(connection, id, actor.tenants)
      : undefined;
    if (revoked === undefined) {
      throw new AppError('portal_link_not_found', {
        detail: 'There is no such link. GET /webhook/portal-links lists them.',
      });
    }
    if (!revoked.is_first) return;
    const { tenant, subject } = revoked;
    const entry = { actor, request, action: 'portal_link.revoke', target: id, tenant };
    await audit(connection, { ...entry, before: { tenant, subject } });
  });
}

async function openLink(
  db: Database,
  { audit, publicUrl, isFramed }: PortalOptions,
  { code, request }: { code: string; request: FastifyRequest },
): Promise<{ actor: Actor; cookie: string }> {
  const secret = randomText(43);
  return db.transaction(async (connection) => {
    const opened = await queries.takePortalLink(connection, hashSecret(code), {
      hash: hashSecret(secret),
      address: clientAddress(request),
      userAgent: userAgentOf(request),
    });
    if (opened === undefined) {
      throw new AppError('portal_link_invalid', {
        detail:
          'Each link opens once. Go back to where you came from, and open the webhooks there again.',
      });
    }
    const actor = visitorOf(opened);
    const entry = { actor, request, action: 'portal_link.open', target: opened.id };
    await audit(connection, { ...entry, tenant: opened.tenant });
    return {
      actor,
      cookie: cookieText(cookie, secret, { maxAge: opened.seconds, request, publicUrl, isFramed }),
    };
  });
}

function ignoreEnded(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'portal_ended') return undefined;
  throw error;
}

import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Actor, requireCurrentSecret, requireScope } from '../kernel/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret, randomText } from '../kernel/ids.ts';
import type { Scope } from '../kernel/values.ts';
import type { Audit } from '../platform/audit.ts';
import { clientAddress } from '../platform/http/client-address.ts';
import type { Log } from '../platform/log.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { userAgentOf } from './audit.ts';
import type { Confirmation, Session, SignIn } from './contract.ts';
import {
  type Credentials,
  cookieText,
  type PublicUrl,
  readCookie,
  refuseForeignOrigin,
} from './cookies.ts';
import { letIn, type PeopleOptions, provePresence, type Visit } from './people.ts';
import { findVisitor } from './portal.ts';
import * as queries from './queries.ts';
import {
  actorOf,
  authenticateToken,
  createFindToken,
  createKnownTokens,
  requireAddress,
  requireVouched,
  toActor,
} from './tokens.ts';

/** How sessions begin and end. */
export type SessionOptions = {
  readonly publicUrl?: PublicUrl;
  /** After so many seconds in which nobody does anything a session ends; 0 = never. */
  readonly idleSeconds: number;
  /** What a person made is refused when they have not signed in for so many days; 0 = never. */
  readonly vouchDays: number;
  /** How people sign in by the identity server; null = there is none. */
  readonly people: PeopleOptions | null;
};

type Authenticate = (request: FastifyRequest, mayBeKnown?: boolean) => Promise<Actor>;

const cookie = 'svc_session';
/** By this header the console says that somebody has pressed a key or a button: its own polls keep no session open. */
const activeHeader = 'svcctl-active';

/** A session of a token ends a day after it was opened, however busy it is. */
const sessionSeconds = 24 * 60 * 60;
const linkSeconds = 60 * 60;
/** How long a session may do what is destructive after it has given its token again. */
const confirmationSeconds = 10 * 60;
const safeMethods = new Set(['GET', 'HEAD']);
/** So long no other refusal of the same token is written down by this process. */
const quietMillis = 600_000;

/**
 * Returns a function that finds the caller of a request: by the access token in its header, or else by its console
 * session, or that of the portal. It throws 401, and 403 `cross_site_refused` when another site's page used the session.
 * With `mayBeKnown` it may be a token that was looked up within `knownMillis`; its actor then has a `check` to be made.
 */
export function createAuthenticate(
  db: Database,
  {
    publicUrl,
    idleSeconds,
    vouchDays,
    knownMillis,
  }: Omit<SessionOptions, 'people'> & { knownMillis: number },
): Authenticate {
  const findToken = createFindToken(db);
  const knownTokens = createKnownTokens(knownMillis);
  return async (request, mayBeKnown = false) => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      const visitor = await findVisitor(db, request, publicUrl);
      if (visitor !== undefined) return visitor;
    }
    const secret = authorization === undefined && readCookie(cookie, request, publicUrl);
    if (!secret) {
      const how = { authorization, request, vouchDays, known: knownTokens, mayBeKnown };
      return authenticateToken(db, how, findToken);
    }
    if (!safeMethods.has(request.method)) refuseForeignOrigin(request.headers, publicUrl);
    const hash = hashSecret(secret);
    const row = await queries.findTokenBySession(db, hash);
    if (row === undefined) throw sessionEnded();
    requireVouched(row, vouchDays);
    requireAddress(row, request);
    const actor = await toActor(db, row);
    if (row.is_idle_stale && idleSeconds > 0 && request.headers[activeHeader] !== undefined) {
      await queries.keepSession(db, hash, idleSeconds).catch(() => {});
    }
    return { ...actor, session: { confirmedUntil: row.confirmed_until } };
  };
}

/** Audits the use of a token, perhaps found by somebody, from a wrong address: once in ten minutes, against floods. */
export function tellAddressRefusals(
  authenticate: Authenticate,
  { db, audit, clock, log }: { db: Queryable; audit: Audit; clock: Clock; log: Log },
): Authenticate {
  const toldAtMillis = new LRUCache<string, number>({ max: 10_000 });
  return async (request, mayBeKnown) => {
    try {
      return await authenticate(request, mayBeKnown);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'address_refused') throw error;
      const actor = error.cause as Actor;
      const { tokenId: target, tenants } = actor;
      if (clock() - (toldAtMillis.get(target) ?? 0) >= quietMillis) {
        toldAtMillis.set(target, clock());
        const entry = { actor, request, action: 'token.refuse', target, tenants };
        // The caller stays refused whether or not the refusal can be written down.
        await audit(db, { ...entry, after: { code: error.code } }).catch((err: unknown) =>
          log.warn({ err, target }, 'a refused token could not be told in the audit log'),
        );
      }
      throw error;
    }
  };
}

/** Opens a session. Returns who the caller is and the cookie to set. Throws 401, and 403 `person_refused`. */
export async function openSession(
  db: Database,
  given: SignIn,
  { idleSeconds, people, vouchDays, ...visit }: Visit & SessionOptions,
): Promise<{ actor: Actor; cookie: string }> {
  const { request, audit, publicUrl } = visit;
  const { by, actor, idToken } = await findOpener(db, given, { ...visit, people, vouchDays });
  const seconds = by === 'identity' && people !== null ? people.sessionSeconds : sessionSeconds;
  const secret = randomText(43);
  await db.transaction(async (connection) => {
    const id = await queries.insertSession(connection, {
      hash: hashSecret(secret),
      tokenId: actor.tokenId,
      seconds,
      idleSeconds,
      idToken,
      address: clientAddress(request),
      userAgent: userAgentOf(request),
    });
    await audit(connection, {
      actor,
      request,
      action: 'session.open',
      target: id,
      after: by === 'identity' ? { by, scopes: actor.scopes, tenants: actor.tenants } : { by },
    });
  });
  return { actor, cookie: cookieText(cookie, secret, { maxAge: seconds, request, publicUrl }) };
}

async function findOpener(
  db: Database,
  { token, code, answer }: SignIn,
  { people, vouchDays, ...visit }: Visit & Omit<SessionOptions, 'idleSeconds'>,
): Promise<{ by: 'token' | 'link' | 'identity'; actor: Actor; idToken: string | null }> {
  if (answer !== undefined) {
    refuseForeignOrigin(visit.request.headers, visit.publicUrl);
    return { by: 'identity', ...(await letIn(db, required(people), { ...visit, answer })) };
  }
  if (code !== undefined) return { by: 'link', actor: await redeemLink(db, code), idToken: null };
  const authorization = `Bearer ${token?.trim()}`;
  const actor = await authenticateToken(db, { authorization, request: visit.request, vouchDays });
  requireCurrentSecret(actor);
  return { by: 'token', actor, idToken: null };
}

/** Throws 404 `route_not_found` where no identity server is set. */
export function required(people: PeopleOptions | null): PeopleOptions {
  if (people !== null) return people;
  throw new AppError('route_not_found', {
    detail: 'No identity server is set (SVC_OIDC_ISSUER). Sign in with an access token.',
  });
}

/**
 * Confirms the session of a request: with its token, given once more, or with an answer of the identity server that its
 * person has signed in anew. Returns until when it is confirmed. Throws 401, also when what was given is valid but is not
 * of this session.
 */
export async function confirmSession(
  db: Database,
  { token, answer }: Confirmation,
  { actor, people, ...visit }: Visit & Pick<SessionOptions, 'people'> & { actor: Actor },
): Promise<string> {
  const { request, audit, publicUrl } = visit;
  const secret = readCookie(cookie, request, publicUrl);
  if (actor.session === undefined || secret === undefined) {
    throw new AppError('session_expired', {
      detail: 'There is no console session to confirm. A call with an access token needs none.',
    });
  }
  if (answer !== undefined) {
    await provePresence(db, required(people), { ...visit, answer, actor });
  } else await proveToken(db, token ?? '', { actor, request });
  return db.transaction(async (connection) => {
    const until = await queries.confirmSession(connection, hashSecret(secret), confirmationSeconds);
    if (until === undefined) throw sessionEnded();
    await audit(connection, {
      actor,
      request,
      action: 'session.confirm',
      target: null,
      after: { confirmed_until: until },
    });
    return until;
  });
}

async function proveToken(
  db: Database,
  token: string,
  { actor, request }: { actor: Actor; request: FastifyRequest },
): Promise<void> {
  const authorization = `Bearer ${token.trim()}`;
  // The session that calls was vouched for.
  const given = await authenticateToken(db, { authorization, request, vouchDays: 0 });
  requireCurrentSecret(given);
  if (given.tokenId === actor.tokenId) return;
  throw new AppError('token_unknown', {
    detail: `This is not the access token of the session, which stands for "${actor.name}".`,
  });
}

/**
 * Ends the session of a request, if it has one. Returns the cookie that clears the browser's, and where its person signs
 * out of the identity server, too; null for nowhere. Throws 403 `cross_site_refused`.
 */
export async function closeSession(
  db: Database,
  { request, audit, publicUrl, people }: Visit & Pick<SessionOptions, 'people'>,
): Promise<{ cookie: string; endUrl: string | null }> {
  const secret = readCookie(cookie, request, publicUrl);
  let idToken: string | null = null;
  if (secret !== undefined) {
    refuseForeignOrigin(request.headers, publicUrl);
    const hash = hashSecret(secret);
    await db.transaction(async (connection) => {
      const row = await queries.findTokenBySession(connection, hash);
      const ended = await queries.deleteSession(connection, hash);
      if (row === undefined || ended === undefined) return;
      idToken = ended.id_token;
      const actor = actorOf(row);
      await audit(connection, { actor, request, action: 'session.close', target: null });
    });
  }
  // Whoever signs out is signed out here, whether or not the identity server answers.
  const endUrl =
    idToken === null || people === null
      ? null
      : await people.server.endUrl(idToken).catch(() => null);
  return { cookie: cookieText(cookie, '', { maxAge: 0, request, publicUrl }), endUrl };
}

/** Returns the live sessions that the caller may see, and says which is its own. */
export async function listSessions(
  db: Queryable,
  { actor, request, publicUrl }: { actor: Actor; request: FastifyRequest; publicUrl: PublicUrl },
): Promise<Session[]> {
  const own = ownSession({ actor, request, publicUrl });
  return queries.listSessions(db, { reach: actor.tenants, own });
}

/** The hash of the console session that calls; null when a token does. */
export function ownSession(call: {
  actor: Actor;
  request: Credentials;
  publicUrl: PublicUrl;
}): Buffer | null {
  if (call.actor.session === undefined) return null;
  const secret = readCookie(cookie, call.request, call.publicUrl);
  return secret === undefined ? null : hashSecret(secret);
}

/** Ends a session by its id. Throws 404 `session_not_found`, also for one out of reach. */
export async function endSession(
  db: Database,
  id: string,
  { actor, request, audit }: { actor: Actor; request: FastifyRequest; audit: Audit },
): Promise<void> {
  await db.transaction(async (connection) => {
    const isId = /^ses_[0-9A-Za-z]+$/.test(id);
    const { tenants: reach } = actor;
    const [ended] = isId ? await queries.endSessions(connection, { id, reach }) : [];
    if (ended === undefined) {
      throw new AppError('session_not_found', {
        detail: 'There is no such session. It may have ended. GET /sessions lists them.',
      });
    }
    await audit(connection, {
      actor,
      request,
      action: 'session.end',
      target: ended.id,
      tenants: ended.tenants,
      before: { token_id: ended.token_id },
    });
  });
}

/** Ends all sessions of the caller's own token. Returns the cookie that clears the browser's. */
export async function signOutEverywhere(
  db: Database,
  { actor, request, audit, publicUrl }: Visit & { actor: Actor },
): Promise<string> {
  await db.transaction(async (connection) => {
    const own = { tokenId: actor.tokenId, reach: null };
    const ended = await queries.endSessions(connection, own);
    const after = { sessions: ended.length };
    await audit(connection, { actor, request, action: 'session.end_all', target: null, after });
  });
  return cookieText(cookie, '', { maxAge: 0, request, publicUrl });
}

/** Makes a code that signs in once, within an hour, as the oldest unlimited admin token; null if there is none. */
export async function createSignInCode(db: Queryable): Promise<string | null> {
  const tokenId = await queries.findOldestAdminToken(db);
  if (tokenId === undefined) return null;
  const code = randomText(32);
  await queries.insertSignInLink(db, hashSecret(code), tokenId, linkSeconds);
  return code;
}

/** Checks again the token that asked for something to happen later. Returns its actor; throws 401 or 403. */
export async function actorOfToken(db: Database, id: string, scope: Scope): Promise<Actor> {
  const actor = await toActor(db, await queries.findTokenById(db, id));
  requireScope(actor, scope);
  return actor;
}

async function redeemLink(db: Database, code: string): Promise<Actor> {
  const tokenId = await queries.takeSignInLink(db, hashSecret(code));
  const row = tokenId === undefined ? undefined : await queries.findTokenById(db, tokenId);
  if (row !== undefined) return toActor(db, row);
  throw new AppError('sign_in_link_invalid', {
    detail: 'This sign-in link was used already or is too old. Sign in with an access token.',
  });
}

function sessionEnded(): AppError {
  return new AppError('session_expired', { detail: 'The session has ended. Sign in again.' });
}

/** A name for a request's session that does not give its secret away; undefined: it shows no session. */
export function sessionHash(request: Credentials, publicUrl: PublicUrl): string | undefined {
  const secret = readCookie(cookie, request, publicUrl);
  return secret === undefined ? undefined : hashSecret(secret).toString('base64url');
}

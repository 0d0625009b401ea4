import type { IncomingHttpHeaders } from 'node:http';
import { type Actor, requireScope, type Scope } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { hashSecret, randomText } from '../kernel/ids.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import * as queries from './queries.ts';
import { authenticateToken, toActor } from './tokens.ts';

export type Credentials = { readonly method: string; readonly headers: IncomingHttpHeaders };

const cookieName = 'svc_session';
/** A session ends a day after sign-in, however busy it is. */
const sessionSeconds = 24 * 60 * 60;
const linkSeconds = 60 * 60;
const safeMethods = new Set(['GET', 'HEAD']);

/** The caller behind a request: an access token in the header, or else a console session. Throws 401. */
export async function authenticate(db: Database, request: Credentials): Promise<Actor> {
  const { authorization, cookie } = request.headers;
  const secret = readCookie(cookie);
  if (authorization !== undefined || secret === undefined) {
    return authenticateToken(db, authorization);
  }
  if (!safeMethods.has(request.method)) refuseForeignOrigin(request.headers);
  const row = await queries.findTokenBySession(db, hashSecret(secret));
  if (row === undefined) {
    throw new AppError('session_expired', { detail: 'The session has ended. Sign in again.' });
  }
  return toActor(db, row);
}

/** Opens a session for a token or a one-time sign-in code; answers who it is and the cookie to set. */
export async function openSession(
  db: Database,
  request: { token?: string; code?: string },
  isSecure: boolean,
): Promise<{ actor: Actor; cookie: string }> {
  const actor =
    request.code === undefined
      ? await authenticateToken(db, `Bearer ${request.token?.trim()}`)
      : await redeemLink(db, request.code);
  const secret = randomText(43);
  await queries.insertSession(db, hashSecret(secret), actor.tokenId, sessionSeconds);
  return { actor, cookie: cookieText(secret, sessionSeconds, isSecure) };
}

/** Ends the session of a request, if it has one; answers the cookie that clears it. */
export async function closeSession(db: Queryable, headers: IncomingHttpHeaders): Promise<string> {
  const secret = readCookie(headers.cookie);
  if (secret !== undefined) await queries.deleteSession(db, hashSecret(secret));
  return cookieText('', 0, false);
}

/** A code that signs in once, within an hour, as the oldest unlimited admin token; null if there is none. */
export async function createSignInCode(db: Queryable): Promise<string | null> {
  const tokenId = await queries.findOldestAdminToken(db);
  if (tokenId === undefined) return null;
  const code = randomText(32);
  await queries.insertSignInLink(db, hashSecret(code), tokenId, linkSeconds);
  return code;
}

/** The actor of a token that asked for something to happen later, checked anew. Throws 401, 403. */
export async function actorOfToken(db: Database, id: string, scope: Scope): Promise<Actor> {
  const row = await queries.findTokenById(db, id);
  if (row === undefined) throw new AppError('token_unknown');
  const actor = await toActor(db, row);
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

/**
 * The cookie is SameSite=Strict, so a browser does not send it along from another site; this refuses
 * what one that does not know SameSite would send.
 */
function refuseForeignOrigin(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  const isOwn =
    (site === undefined || site === 'same-origin') &&
    (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host));
  if (isOwn) return;
  throw new AppError('cross_site_refused', {
    detail: 'A console session is only taken from the console itself. Use an access token.',
  });
}

function readCookie(header: string | undefined): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name, value] = part.trim().split('=');
    if (name === cookieName && value) return value;
  }
  return undefined;
}

function cookieText(secret: string, maxAge: number, isSecure: boolean): string {
  const secure = isSecure ? '; Secure' : '';
  return `${cookieName}=${secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAge}${secure}`;
}

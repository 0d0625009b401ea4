import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../kernel/errors.ts';

export type Credentials = Pick<FastifyRequest, 'method' | 'headers' | 'protocol'>;

/** The origin at which browsers reach the console; undefined means wherever a request came to. */
export type PublicUrl = string | undefined;

/** Returns whether the browser sent the request by https, perhaps to a proxy before us. */
function isSecure({ protocol }: Credentials, publicUrl: PublicUrl): boolean {
  return publicUrl === undefined ? protocol === 'https' : publicUrl.startsWith('https:');
}

/** With the prefix __Host- a browser accepts the cookie by https only, and from no other host of the domain. */
function prefixed(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}

/** The value of a cookie of ours; undefined when the request has none. */
export function readCookie(
  cookie: string,
  request: Credentials,
  publicUrl: PublicUrl,
): string | undefined {
  const wanted = prefixed(cookie, isSecure(request, publicUrl));
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=');
    if (name === wanted && value) return value;
  }
  return undefined;
}

/**
 * Sets a cookie that scripts cannot read and other sites cannot send, for so many seconds; 0 removes it. With `isFramed`
 * browsers also send it from within a page of another site, and keep it for each of these sites apart: whoever reads it
 * has to refuse what such pages send themselves. That takes https.
 */
export function cookieText(
  cookie: string,
  value: string,
  of: { maxAge: number; request: Credentials; publicUrl: PublicUrl; isFramed?: boolean },
): string {
  const isSafe = isSecure(of.request, of.publicUrl);
  const sites = isSafe && of.isFramed === true ? 'None; Partitioned' : 'Strict';
  const secure = isSafe ? '; Secure' : '';
  return `${prefixed(cookie, isSafe)}=${value}; HttpOnly; SameSite=${sites}; Path=/; Max-Age=${of.maxAge}${secure}`;
}

/**
 * Refuses a session that another site's page sends. The console's cookie is SameSite=Strict, so browsers do not send it
 * along from other sites; this is for a browser that does not know SameSite, and for the portal's in a frame.
 */
export function refuseForeignOrigin(headers: IncomingHttpHeaders, publicUrl: PublicUrl): void {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  // Behind a proxy the scheme may be another one, so without a public URL only the host can be compared.
  const isOwnOrigin = (text: string) =>
    publicUrl === undefined
      ? URL.canParse(text) && new URL(text).host === host
      : text === publicUrl;
  const isOwn =
    (site === undefined || site === 'same-origin') && (origin === undefined || isOwnOrigin(origin));
  if (isOwn) return;
  const where = publicUrl === undefined ? '' : ` It is at ${publicUrl}.`;
  throw new AppError('cross_site_refused', {
    detail: `A console session is only taken from the console itself.${where} Use an access token.`,
  });
}

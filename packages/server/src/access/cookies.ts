import type { FastifyRequest } from 'fastify';

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

/** Sets a cookie that scripts cannot read and other sites cannot send, for so many seconds; 0 removes it. */
export function cookieText(
  cookie: string,
  value: string,
  of: { maxAge: number; request: Credentials; publicUrl: PublicUrl },
): string {
  const isSafe = isSecure(of.request, of.publicUrl);
  const secure = isSafe ? '; Secure' : '';
  return `${prefixed(cookie, isSafe)}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${of.maxAge}${secure}`;
}

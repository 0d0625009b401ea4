import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Whom a request came from: the peer, or the right-most address in X-Forwarded-For that no trusted proxy has.
 * Some proxies put a port behind it, others the word "unknown": then the peer is all that is known.
 */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  if (isIP(ip) !== 0) return ip;
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(ip) ?? [];
  const bare = v6 ?? v4 ?? '';
  return isIP(bare) === 0 ? (socket.remoteAddress ?? 'unknown') : bare;
}

import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/**
 * Whom a request came from: the peer, or the right-most address in X-Forwarded-For that no trusted proxy has.
 * Some proxies put a port behind it, others the word "unknown": then the peer is all that is known.
 */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  if (ipaddr.isValid(ip)) return ip;
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(ip) ?? [];
  const bare = v6 ?? v4 ?? '';
  return ipaddr.isValid(bare) ? bare : (socket.remoteAddress ?? '');
}

/** What shares are counted by. The addresses of an IPv6 network of 64 bits are one: a host can have all of them. */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 && parsed.range() !== 'loopback'
    ? `${parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::`
    : parsed.toString();
}

/** Proxies on this machine, and whoever could as well read its memory. */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** Whether an address lies in one of these networks, given as CIDRs. */
export function isWithin(networks: readonly string[]): (address: string) => boolean {
  const ranges = networks.map((network) => ipaddr.parseCIDR(network));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some((range) => parsed.kind() === range[0].kind() && parsed.match(range));
  };
}

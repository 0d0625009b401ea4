import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';

/**
 * Returns the address that a request came from: that of the peer, or the right-most one in X-Forwarded-For that is no
 * trusted proxy's. Some proxies add a port, which is removed; others write the word "unknown", and then only the peer
 * is known.
 */
export function clientAddress({ ip, socket }: FastifyRequest): string {
  if (ipaddr.isValid(ip)) return ip;
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(ip) ?? [];
  const bare = v6 ?? v4 ?? '';
  return ipaddr.isValid(bare) ? bare : (socket.remoteAddress ?? '');
}

/**
 * Returns the key by which limits are counted for an address. All addresses of an IPv6 network of 64 bits count as one,
 * because a single host can use all of them. An invalid address counts under the empty key.
 */
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

/**
 * Returns whether the address is this machine's own. Who calls from it is a proxy or a program that could read the
 * service's memory as well.
 */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** Makes a function that says whether an address lies in one of these networks, which are given as CIDRs. */
export function isWithin(networks: readonly string[]): (address: string) => boolean {
  const ranges = networks.map((network) => ipaddr.parseCIDR(network));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some((range) => parsed.kind() === range[0].kind() && parsed.match(range));
  };
}

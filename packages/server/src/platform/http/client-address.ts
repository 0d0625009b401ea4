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

/** Returns whether the address is this machine's own: who calls from it could read the service's memory as well. */
export function isLoopback(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
}

/** Spells a network or address as a CIDR; undefined for others, and for IPv4 in IPv6, which is compared as IPv4. */
export function toNetwork(text: string): string | undefined {
  const wide = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  if (!/^[\da-f:.]+\/\d{1,3}$/i.test(wide) || !ipaddr.isValidCIDR(wide)) return undefined;
  const [address, bits] = ipaddr.parseCIDR(wide);
  if (
    address instanceof ipaddr.IPv4 &&
    !ipaddr.IPv4.isValidFourPartDecimal(text.split('/')[0] ?? '')
  )
    return undefined;
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) return undefined;
  return `${address.toString()}/${bits}`;
}

/** Returns whether all addresses of a network, a CIDR, lie in one of these. */
export function liesWithin(network: string, others: readonly string[]): boolean {
  const [address, bits] = ipaddr.parseCIDR(network);
  return others.some((other) => {
    const range = ipaddr.parseCIDR(other);
    return address.kind() === range[0].kind() && bits >= range[1] && address.match(range);
  });
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

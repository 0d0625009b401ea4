import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** What an address is to a webhook: inside the allow list, of the public internet, or neither. */
export type AddressVerdict =
  | { readonly kind: 'listed' | 'public' }
  | { readonly kind: 'special'; readonly range: string };

export type AddressRule = (address: string) => AddressVerdict;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const listed: AddressVerdict = { kind: 'listed' };
const isPublic: AddressVerdict = { kind: 'public' };

/** The only part of IPv6 that IANA has given out as global unicast: ::/8, 4000::/3 and others lead nowhere. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** RFC 6052: the last 32 bits are an IPv4 address. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/**
 * Of the network's own NAT64 prefixes (RFC 8215, 64:ff9b:1::/48) only this one: where else in the
 * address the IPv4 address lies depends on a prefix length that only the network knows, and whoever
 * names the address would choose the reading. Read with any other length, these are 0.0.0.0/8.
 */
const localNat64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/96');
/** Public by number, yet answered by the machine's own cloud: Azure's virtual platform address. */
const metadata = ipaddr.IPv4.parseCIDR('168.63.129.16/32');

const rangeNames: Readonly<Record<string, string>> = {
  private: 'private',
  loopback: 'loopback',
  linkLocal: 'link-local',
  uniqueLocal: 'unique local',
  carrierGradeNat: 'carrier-grade NAT',
  unspecified: 'unspecified',
  multicast: 'multicast',
  broadcast: 'broadcast',
};

/**
 * Decides which addresses webhooks may be sent to, after the IANA special-purpose registries. Addresses
 * that carry an IPv4 address (mapped, NAT64, 6to4) are what that is. `allowTargets` (CIDRs) goes first.
 */
export function createAddressRule(allowTargets: readonly string[]): AddressRule {
  const networks = allowTargets.map((network) => ipaddr.parseCIDR(network));
  const isListed = (address: Address) =>
    networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
  return (text) => {
    // Stricter than ipaddr.js, which also takes short and octal forms.
    if (isIP(text) === 0) return { kind: 'special', range: 'unreadable' };
    const address = ipaddr.parse(text);
    const embedded = embeddedIPv4(address);
    if (isListed(address) || (embedded !== null && isListed(embedded))) return listed;
    const range = specialRange(embedded ?? address);
    return range === null ? isPublic : { kind: 'special', range };
  };
}

/** Why an address is not public; null when it is. */
function specialRange(address: Address): string | null {
  const range = address.range();
  if (range !== 'unicast') return rangeNames[range] ?? 'reserved';
  if (address instanceof ipaddr.IPv4) return address.match(metadata) ? 'cloud metadata' : null;
  return address.match(globalUnicast) ? null : 'reserved';
}

function embeddedIPv4(address: Address): ipaddr.IPv4 | null {
  if (address instanceof ipaddr.IPv4) return null;
  const bytes = address.toByteArray();
  if (address.range() === '6to4') return new ipaddr.IPv4(bytes.slice(2, 6));
  const isTranslated =
    address.isIPv4MappedAddress() || address.match(nat64) || address.match(localNat64);
  return isTranslated ? new ipaddr.IPv4(bytes.slice(12)) : null;
}

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** What is wrong with the addresses of a host. */
type Objection = {
  /** blocked: a special address outside the allow list; plain: http to a public one. */
  readonly kind: 'blocked' | 'plain';
  /** Names the address: whoever reads it gave the host. */
  readonly text: string;
};

/**
 * Judges all addresses of a host: one that is not allowed condemns the others, because which of them
 * is connected to is up to chance. http needs every one inside the allow list.
 */
export function findObjection(
  rule: AddressRule,
  host: { protocol: string; hostname: string; addresses: readonly string[] },
): Objection | null {
  const verdicts = host.addresses.map((address) => ({ address, verdict: rule(address) }));
  for (const { address, verdict } of verdicts) {
    if (verdict.kind === 'special') {
      const text = `${lead(host.hostname, address)} is not a public address (${verdict.range})`;
      return { kind: 'blocked', text: `${text} and not inside SVC_ALLOW_TARGETS` };
    }
  }
  if (host.protocol === 'https:') return null;
  const open = verdicts.find(({ verdict }) => verdict.kind !== 'listed');
  if (open === undefined) return null;
  const text = `${lead(host.hostname, open.address)} is not inside SVC_ALLOW_TARGETS`;
  return { kind: 'plain', text: `${text}, and only targets inside it may use http` };
}

function lead(hostname: string, address: string): string {
  const isLiteral = hostname.replace(/^\[|\]$/g, '') === address;
  return isLiteral ? address : `${hostname} leads to ${address}, which`;
}

/** What an address is to a webhook: inside the allow list, of the public internet, or neither. */
type AddressVerdict =
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

/** All addresses of a host name. Rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/**
 * The resolver of the operating system. At most one question per name at a time: each takes one of
 * libuv's four threads for as long as a dead name server keeps silent.
 */
export function createLookup(): Lookup {
  const asked = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const known = asked.get(hostname);
    if (known !== undefined) return known;
    const question = lookup(hostname, { all: true, verbatim: true })
      .then((answers) => answers.map((answer) => answer.address))
      .finally(() => asked.delete(hostname));
    asked.set(hostname, question);
    return question;
  };
}

/** The address that the host of a URL is, as WHATWG URL writes it; null when it is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

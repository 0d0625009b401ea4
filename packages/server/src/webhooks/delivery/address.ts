import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Objection = {
  /** `blocked`: one is a special address outside the allow list. `plain`: the URL is http and one is public. */
  readonly kind: 'blocked' | 'plain';
  /** Names an address only if it is the host itself: where a name leads inside is not for everybody. */
  readonly text: string;
  /** The same with the address that a name leads to, for those who reach all tenants. */
  readonly fullText: string;
};

/**
 * Judges all addresses of a host; null when there is nothing against them. One that is not allowed condemns the host,
 * because chance decides which is connected to. With http, every address has to be inside the allow list.
 */
export function findObjection(
  rule: AddressRule,
  host: { protocol: string; hostname: string; addresses: readonly string[] },
): Objection | null {
  const verdicts = host.addresses.map((address) => ({ address, verdict: rule(address) }));
  for (const { address, verdict } of verdicts) {
    if (verdict.kind === 'special') {
      return object('blocked', host.hostname, address, {
        told: `is not a public address (${verdict.range}) and not inside SVC_ALLOW_TARGETS`,
        hidden: 'is not public and not inside SVC_ALLOW_TARGETS',
      });
    }
  }
  if (host.protocol === 'https:') return null;
  const open = verdicts.find(({ verdict }) => verdict.kind !== 'listed');
  if (open === undefined) return null;
  const text = 'is not inside SVC_ALLOW_TARGETS, and only targets inside it may use http';
  return object('plain', host.hostname, open.address, { told: text, hidden: text });
}

function object(
  kind: Objection['kind'],
  hostname: string,
  address: string,
  { told, hidden }: { told: string; hidden: string },
): Objection {
  if (hostname.replace(/^\[|\]$/g, '') === address) {
    const text = `${address} ${told}`;
    return { kind, text, fullText: text };
  }
  return {
    kind,
    text: `${hostname} leads to an address that ${hidden}`,
    fullText: `${hostname} leads to ${address}, which ${told}`,
  };
}

/** Inside the allow list, of the public internet, or special (with the name of its range). */
type AddressVerdict =
  | { readonly kind: 'listed' | 'public' }
  | { readonly kind: 'special'; readonly range: string };

/** Judges one address in text form. Text that is no address counts as special. */
export type AddressRule = (address: string) => AddressVerdict;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

const listed: AddressVerdict = { kind: 'listed' };
const isPublic: AddressVerdict = { kind: 'public' };

/**
 * The only part of IPv6 that IANA has given out as global unicast. The rest, such as ::/8 and 4000::/3, leads nowhere.
 */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** The well-known NAT64 prefix (RFC 6052): the last 32 bits of such an address are an IPv4 address. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/**
 * RFC 8215 reserves 64:ff9b:1::/48 for a network's own NAT64 prefixes; only this one is read. With any other length the
 * IPv4 address would lie elsewhere, and whoever names it could choose; read so, these lie in 0.0.0.0/8, which leads
 * nowhere.
 */
const localNat64 = ipaddr.IPv6.parseCIDR('64:ff9b:1::/96');
/** Azure's virtual platform address. It is public by its number, yet the machine's own cloud answers it. */
const metadata = ipaddr.IPv4.parseCIDR('168.63.129.16/32');

/** The names of ipaddr.js for ranges, and how messages call them. All other ranges are called reserved. */
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
 * Creates the rule that decides which addresses webhooks may be sent to, after the IANA special-purpose registries. An
 * IPv6 address that carries an IPv4 address (mapped, NAT64, 6to4) is judged by that one. `allowTargets` (CIDRs) comes
 * first: what is in it is allowed although it is special.
 */
export function createAddressRule(allowTargets: readonly string[]): AddressRule {
  const networks = allowTargets.map((network) => ipaddr.parseCIDR(network));
  const isListed = (address: Address) =>
    networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
  return (text) => {
    // ipaddr.js also reads short and octal forms of IPv4, which the system may read as another address.
    if (isIP(text) === 0) return { kind: 'special', range: 'unreadable' };
    const address = ipaddr.parse(text);
    const embedded = embeddedIPv4(address);
    if (isListed(address) || (embedded !== null && isListed(embedded))) return listed;
    const range = specialRange(embedded ?? address);
    return range === null ? isPublic : { kind: 'special', range };
  };
}

/** The name of the special range that an address lies in; null when the address is public. */
function specialRange(address: Address): string | null {
  const range = address.range();
  if (range !== 'unicast') return rangeNames[range] ?? 'reserved';
  if (address instanceof ipaddr.IPv4) return address.match(metadata) ? 'cloud metadata' : null;
  return address.match(globalUnicast) ? null : 'reserved';
}

/** The IPv4 address that an IPv6 address carries; null when it carries none. */
function embeddedIPv4(address: Address): ipaddr.IPv4 | null {
  if (address instanceof ipaddr.IPv4) return null;
  const bytes = address.toByteArray();
  if (address.range() === '6to4') return new ipaddr.IPv4(bytes.slice(2, 6));
  const isTranslated =
    address.isIPv4MappedAddress() || address.match(nat64) || address.match(localNat64);
  return isTranslated ? new ipaddr.IPv4(bytes.slice(12)) : null;
}

/** Finds all addresses of a host name. Rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Looks names up by the operating system, each once at a time: a question holds one of libuv's four threads. */
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

/** The address in the host of a URL, in the form of WHATWG URL (IPv6 in brackets); null when the host is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

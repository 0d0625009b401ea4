import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { createAddressRule, createLookup, literalAddress } from './address.ts';

const rule = createAddressRule([]);
const kindOf = (address: string) => rule(address).kind;

/** IANA IPv4 and IPv6 Special-Purpose Address Registries, every row; and what other pages there reserve. */
const specialNetworks = [
  '0.0.0.0/8',
  '0.0.0.0/32',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.0.0/29',
  '192.0.0.8/32',
  '192.0.0.9/32',
  '192.0.0.10/32',
  '192.0.0.170/32',
  '192.0.0.171/32',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.88.99.2/32',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '240.0.0.0/4',
  '255.255.255.255/32',
  '224.0.0.0/4',
  '168.63.129.16/32',
  '::1/128',
  '::/128',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001::/32',
  '2001:1::1/128',
  '2001:1::2/128',
  '2001:1::3/128',
  '2001:2::/48',
  '2001:3::/32',
  '2001:4:112::/48',
  '2001:10::/28',
  '2001:20::/28',
  '2001:30::/28',
  '2001:db8::/32',
  '2620:4f:8000::/48',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '200::/7',
  '400::/6',
  '800::/5',
  '1000::/4',
  '4000::/3',
  '6000::/3',
  '8000::/3',
  'a000::/3',
  'c000::/3',
  'e000::/4',
  'f000::/5',
  'f800::/6',
  'fe00::/9',
  // IPv4-compatible, long deprecated
  '::/96',
  // IPv4-translated (SIIT)
  '::ffff:0:0:0/96',
];

/** Each of these is what its IPv4 address is. */
const embeddings: Record<string, (v4: readonly number[]) => string> = {
  'IPv4-mapped': ([a, b, c, d]) => `::ffff:${a}.${b}.${c}.${d}`,
  NAT64: ([a, b, c, d]) => `64:ff9b::${a}.${b}.${c}.${d}`,
  'local NAT64': ([a, b, c, d]) => `64:ff9b:1::${a}.${b}.${c}.${d}`,
  '6to4': ([a = 0, b = 0, c = 0, d = 0]) =>
    `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::1`,
};

const anyAddressIn = (network: string) => {
  const [base, bits] = ipaddr.parseCIDR(network);
  const bytes = base.toByteArray();
  return fc.uint8Array({ minLength: bytes.length, maxLength: bytes.length }).map((noise) => {
    const mixed = bytes.map((byte, index) => {
      const fixed = Math.min(Math.max(bits - index * 8, 0), 8);
      const mask = (0xff << (8 - fixed)) & 0xff;
      return (byte & mask) | ((noise[index] ?? 0) & ~mask & 0xff);
    });
    return ipaddr.fromByteArray(mixed).toString();
  });
};

const v4Networks = specialNetworks.filter((network) => !network.includes(':'));
const v4Bytes = fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 0, max: 255 })));
const isInside = (address: ipaddr.IPv4) =>
  v4Networks.some((network) => address.match(ipaddr.IPv4.parseCIDR(network)));

describe('special addresses', () => {
  test.each(specialNetworks)('every address in %s is refused', (network) => {
    const address = anyAddressIn(network).filter((text) => {
      // ::/96 and the like hold no mapped address; the generator stays inside its network.
      return ipaddr.parse(text).range() !== 'ipv4Mapped';
    });
    fc.assert(
      fc.property(address, (text) => kindOf(text) === 'special'),
      { numRuns: runs(50) },
    );
  });

  test.each(specialNetworks)('the first and the last address of %s are refused', (network) => {
    const [base, bits] = ipaddr.parseCIDR(network);
    const last = base.toByteArray().map((byte, index) => {
      const fixed = Math.min(Math.max(bits - index * 8, 0), 8);
      return byte | (0xff >> fixed);
    });
    expect(kindOf(base.toString())).toBe('special');
    expect(kindOf(ipaddr.fromByteArray(last).toString())).toBe('special');
  });

  test.each(Object.entries(embeddings))('%s addresses are what they embed', (_name, embed) => {
    fc.assert(
      fc.property(v4Bytes, (bytes) => rule(embed(bytes)).kind === rule(bytes.join('.')).kind),
    );
    expect(kindOf(embed([127, 0, 0, 1]))).toBe('special');
    expect(kindOf(embed([169, 254, 169, 254]))).toBe('special');
    expect(kindOf(embed([8, 8, 8, 8]))).toBe('public');
  });

  test('a local NAT64 address that another prefix length would read otherwise is refused', () => {
    expect(kindOf('64:ff9b:1:7f00:0:100::')).toBe('special');
    expect(kindOf('64:ff9b:1:1::8.8.8.8')).toBe('special');
  });

  test.each(['fe80::1%eth0', '::ffff:127.0.0.1', '::ffff:7f00:1', 'localhost', '', '1.2.3'])(
    '"%s" is refused',
    (text) => {
      expect(kindOf(text)).toBe('special');
    },
  );

  test('the text says what kind of address it is', () => {
    expect(rule('127.0.0.1')).toEqual({ kind: 'special', range: 'loopback' });
    expect(rule('::ffff:10.0.0.1')).toEqual({ kind: 'special', range: 'private' });
    expect(rule('168.63.129.16')).toEqual({ kind: 'special', range: 'cloud metadata' });
    expect(rule('4000::1')).toEqual({ kind: 'special', range: 'reserved' });
  });
});

describe('public addresses', () => {
  test('IPv4 outside the registry passes', () => {
    fc.assert(
      fc.property(v4Bytes, (bytes) => {
        fc.pre(!isInside(new ipaddr.IPv4(bytes)));
        return kindOf(bytes.join('.')) === 'public';
      }),
    );
  });

  test.each(['2600::/12', '2a00::/12', '2400::/12', '2800::/12', '2c00::/12', '2003::/18'])(
    'IPv6 unicast in %s passes',
    (network) => {
      fc.assert(
        fc.property(
          anyAddressIn(network),
          (text) => kindOf(text) === 'public' || text.startsWith('2620:4f:8000:'),
        ),
      );
    },
  );

  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2001:200::1',
    '2606:4700::1111',
  ])('%s, just beside a special network, passes', (address) => {
    expect(kindOf(address)).toBe('public');
  });
});

describe('the allow list', () => {
  test('goes before every rule, also for addresses that embed one of its own', () => {
    const listing = createAddressRule(['127.0.0.0/8', 'fd00::/8', '192.0.2.7/32']);
    const addresses = [
      '127.8.9.10',
      'fd12::1',
      '192.0.2.7',
      '::ffff:127.0.0.1',
      '64:ff9b::127.0.0.1',
    ];
    for (const address of addresses) expect(listing(address).kind).toBe('listed');
    expect(listing('192.0.2.8').kind).toBe('special');
    expect(listing('10.0.0.1').kind).toBe('special');
    expect(listing('fc00::1').kind).toBe('special');
    expect(listing('1.1.1.1').kind).toBe('public');
  });

  test('0.0.0.0/0 lists all IPv4 and no other IPv6', () => {
    const listing = createAddressRule(['0.0.0.0/0']);
    expect(listing('8.8.8.8').kind).toBe('listed');
    expect(listing('::1').kind).toBe('special');
  });
});

describe('spellings of an address in a URL', () => {
  test.each([
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0x7f000001/',
    'http://017700000001/',
    'http://①②⑦.⓪.⓪.①/',
    'http://127。0。0。1/',
    'http://127.0.0.1./',
    'http://%31%32%37.0.0.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[::127.0.0.1]/',
    'http://0/',
    'http://[::]/',
    'http://169.254.169.254/',
    'http://[fd00:ec2::254]/',
  ])('%s is seen as the special address that it is', (text) => {
    const literal = literalAddress(new URL(text).hostname);
    expect(literal).not.toBeNull();
    expect(kindOf(literal ?? '')).toBe('special');
  });

  test.each([
    'http://[fe80::1%25eth0]/',
    'http://[fe80::1%eth0]/',
    'http://256.0.0.1/',
    'http://1.2.3.4.5/',
  ])('%s is no URL', (text) => {
    expect(URL.canParse(text)).toBe(false);
  });
});

test('a name without an address rejects', async () => {
  await expect(createLookup()('nowhere.invalid')).rejects.toThrow(/nowhere\.invalid/);
});

test('a name has its addresses, and no more than one question under way', async () => {
  const lookup = createLookup();
  const [first, second] = [lookup('localhost'), lookup('localhost')];
  expect(second).toBe(first);
  for (const address of await first) expect(['127.0.0.1', '::1']).toContain(address);
  expect(lookup('localhost')).not.toBe(first);
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['[::1]', '::1'],
  ['::1', '::1'],
  ['localhost', null],
  ['1.2.3', null],
])('the address that %s is: %s', (hostname, address) => {
  expect(literalAddress(hostname)).toBe(address);
});

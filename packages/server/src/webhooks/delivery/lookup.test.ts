import { expect, test } from 'vitest';
import { createLookup, literalAddress } from './address.ts';

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

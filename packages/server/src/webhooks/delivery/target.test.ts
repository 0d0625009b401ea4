import { expect, test } from 'vitest';
import type { Lookup } from './address.ts';
import { createTarget } from './target.ts';

const names: Record<string, readonly string[]> = {
  'example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'mixed.example': ['93.184.215.14', '10.0.0.1'],
  'inside.example': ['10.0.0.1', '10.0.0.2'],
  'half.example': ['10.0.0.1', '93.184.215.14'],
};
const lookup: Lookup = async (hostname) => {
  const addresses = names[hostname];
  if (addresses === undefined) throw new Error('ENOTFOUND');
  return addresses;
};
const check = (url: string, allowTargets: readonly string[] = []) =>
  createTarget({ allowTargets, lookup }).assertAllowed(url, { tenants: null });

test.each([
  ['', 'not a URL'],
  ['example.com/hook', 'not a URL'],
  ['https://', 'not a URL'],
  ['https://256.1.1.1/', 'not a URL'],
  ['https://[fe80::1%25eth0]/', 'not a URL'],
  ['ftp://example.com/', 'begins with ftp:'],
  ['file:///etc/passwd', 'begins with file:'],
  ['https://user@example.com/', 'credentials'],
  ['https://user:secret@example.com/', 'credentials'],
  ['https://example.com/#/hook', 'fragment'],
  ['https://example.com/#', 'fragment'],
  ['https://example.com/hook?…', 'Give it whole'],
  [' https://example.com/', 'white space'],
  ['https://exam\nple.com/', 'control characters'],
  ['https://example.com/a b', 'white space'],
  ['https://example.com:0/', 'Port 0'],
  ['https://localhost../', 'empty part'],
  ['https://example..com/', 'empty part'],
  ['https://.example.com/', 'empty part'],
  [`https://example.com/${'x'.repeat(2000)}`, 'longer than 2000'],
  ['http://example.com/', 'Use https'],
  ['http://unknown.example/', 'Use https'],
  ['http://1.1.1.1/', 'Use https'],
])('%s is target_invalid: %s', async (url, text) => {
  const error = expect.objectContaining({
    code: 'target_invalid',
    detail: expect.stringContaining(text),
  });
  await expect(check(url)).rejects.toEqual(error);
});

test('a credential in a URL is not repeated in the error', async () => {
  await expect(check('https://user:geheim@example.com/')).rejects.toEqual(
    expect.objectContaining({ detail: expect.not.stringContaining('geheim') }),
  );
});

test.each([
  ['https://127.0.0.1/', '127.0.0.1 is not a public address (loopback)'],
  ['https://2130706433/', '127.0.0.1'],
  ['https://①②⑦.⓪.⓪.①/', '127.0.0.1'],
  ['https://[::ffff:7f00:1]/', '::ffff:7f00:1'],
  ['https://169.254.169.254/latest/meta-data/', 'link-local'],
  ['http://10.0.0.1/', 'private'],
  ['https://mixed.example/', 'mixed.example leads to 10.0.0.1'],
  ['https://inside.example/', 'inside.example leads to 10.0.0.1'],
  ['https://localhost./', '127.0.0.1'],
  ['https://LOCALHOST/', 'localhost leads to 127.0.0.1'],
  ['https://foo.localhost/', '127.0.0.1'],
  ['https://foo.localhost./', '127.0.0.1'],
  ['https://localhost.localdomain/', '127.0.0.1'],
  ['https://localhost6.localdomain6./', '127.0.0.1'],
  ['https://ip6-localhost/', '127.0.0.1'],
])('%s is target_blocked: %s', async (url, text) => {
  const error = expect.objectContaining({
    code: 'target_blocked',
    detail: expect.stringContaining(text),
  });
  await expect(check(url)).rejects.toEqual(error);
});

test.each([
  ['https://mixed.example/', 'mixed.example leads to an address that is not public'],
  ['https://localhost/', 'localhost leads to an address that is not public'],
  ['http://inside.example/', 'inside.example leads to an address that is not public'],
  ['https://10.0.0.1/', '10.0.0.1 is not a public address (private)'],
])('whoever is limited to tenants is not told where a name of %s leads', async (url, text) => {
  const asked = createTarget({ allowTargets: [], lookup }).assertAllowed(url, { tenants: ['T'] });
  const { detail } = await asked.catch((error) => error);
  expect(detail).toContain(text);
  if (!url.includes('10.0.0.1')) expect(detail).not.toMatch(/\d+\.\d+\.\d+\.\d+|private|loopback/);
});

test('http is refused to a name that has one address outside the allow list', async () => {
  await expect(check('http://half.example/', ['10.0.0.0/8'])).rejects.toEqual(
    expect.objectContaining({ code: 'target_invalid' }),
  );
});

test.each([
  'https://example.com/hook?key=1',
  'https://example.com:8443/',
  'https://1.1.1.1/',
  'https://[2606:4700::1111]/',
  'https://unknown.example/',
  'https://example.com.unknown.example./',
  'https://localhost.unknown.example/',
  'https://notlocalhost/',
])('%s is allowed', async (url) => {
  await expect(check(url)).resolves.toBeUndefined();
});

test.each([
  'http://10.1.2.3/',
  'http://inside.example/',
  'https://mixed.example/',
  'http://[::ffff:10.0.0.1]/',
])('%s is allowed with its network on the allow list', async (url) => {
  await expect(check(url, ['10.0.0.0/8'])).resolves.toBeUndefined();
});

test('a name server that keeps silent is a name that cannot be looked up', async () => {
  const silent = createTarget({
    allowTargets: [],
    lookup: () => new Promise(() => {}),
    lookupTimeoutMillis: 10,
  });
  await expect(
    silent.assertAllowed('https://silent.example/', { tenants: null }),
  ).resolves.toBeUndefined();
  await expect(silent.assertAllowed('http://silent.example/', { tenants: null })).rejects.toEqual(
    expect.objectContaining({ code: 'target_invalid' }),
  );
});

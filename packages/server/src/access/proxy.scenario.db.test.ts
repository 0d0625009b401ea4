import { expect, test } from 'vitest';
import { startTestService, type TestService, useTestService } from '../../test/service.ts';
import { newAccessToken } from '../kernel/ids.ts';
import { failuresPerMinute } from './limits.ts';

const publicUrl = 'https://svcctl.example';
const proxied = useTestService({
  SVC_PUBLIC_URL: publicUrl,
  SVC_TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8',
});
const plain = useTestService();

const signIn = (service: TestService, headers: Record<string, string> = {}, token?: string) =>
  service.call('POST', '/session', {
    token: null,
    headers,
    body: { token: token ?? service.adminToken },
  });
const forwarded = (addresses: string, proto = 'https') => ({
  'x-forwarded-for': addresses,
  'x-forwarded-proto': proto,
});
/** The address of the latest sign-in. */
async function addressIn(service: TestService): Promise<string> {
  const answer = await service.call('GET', '/audit?action=session.open&limit=1');
  return answer.json.data[0].address;
}

test('behind https the cookie is secure, and of this host alone', async () => {
  const answer = await signIn(proxied);
  const cookie = answer.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(
    /^__Host-svc_session=\w{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=86400; Secure$/,
  );
  const [pair = ''] = cookie.split(';');
  const me = (value: string) =>
    proxied.call('GET', '/me', { token: null, headers: { cookie: value } });
  expect((await me(pair)).status).toBe(200);
  expect((await me(pair.replace('__Host-', ''))).status).toBe(401);
  const out = await proxied.call('DELETE', '/session', { token: null, headers: { cookie: pair } });
  expect(out.headers.get('set-cookie')).toMatch(/^__Host-svc_session=;.*Max-Age=0; Secure$/);
});

test('every answer asks for https from then on, and none does without a public URL', async () => {
  for (const path of ['/me', '/nothing', '/~/healthz', '/~/']) {
    const answer = await proxied.call('GET', path);
    expect(answer.headers.get('strict-transport-security'), path).toBe('max-age=31536000');
    expect((await plain.call('GET', path)).headers.has('strict-transport-security')).toBe(false);
  }
});

test('a write of the console is taken from the public URL, whatever Host the proxy sends', async () => {
  const cookie = (await signIn(proxied)).headers.get('set-cookie')?.split(';')[0] ?? '';
  const write = (origin: string) =>
    proxied.call('POST', '/exports/csv', {
      token: null,
      headers: { cookie, origin, 'sec-fetch-site': 'same-origin' },
      body: { tenant: 'T' },
    });
  expect((await write(publicUrl)).status).toBe(200);
  for (const origin of [proxied.url, 'http://svcctl.example', 'https://svcctl.example:8443']) {
    const answer = await write(origin);
    expect(answer.json).toMatchObject({ status: 403, code: 'cross_site_refused' });
    expect(answer.json.detail).toContain(publicUrl);
  }
});

test('links lead to the public URL', async () => {
  expect(await proxied.createSignInLink()).toMatch(
    /^https:\/\/svcctl[.]example\/#\/sign-in[?]code=/,
  );
  const body = { tenant: 'T', delivery: 'link' };
  const link = await proxied.call('POST', '/exports/csv', { body });
  expect(link.json.url).toMatch(/^https:\/\/svcctl[.]example\/api\/v1\/exports\/links\/\w+$/);
  expect((await plain.call('POST', '/exports/csv', { body })).json.url).toMatch(/^\/api\/v1\//);
});

test.each([
  ['the right-most address that is no proxy', '6.6.6.6, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
  ['an address with a port', '203.0.113.10:5123', '203.0.113.10'],
  ['an IPv6 address with a port', '[2001:db8::7]:5123', '2001:db8::7'],
  ['the proxy itself when it says nothing readable', '6.6.6.6, unknown', '127.0.0.1'],
])('the audit log has %s', async (_name, addresses, expected) => {
  expect((await signIn(proxied, forwarded(addresses))).status).toBe(200);
  expect(await addressIn(proxied)).toBe(expected);
});

test('nothing that is forwarded counts from a peer that is no proxy of ours', async () => {
  const answer = await signIn(plain, forwarded('203.0.113.9'));
  expect(answer.headers.get('set-cookie')).toMatch(/^svc_session=(?!.*Secure)/);
  expect(await addressIn(plain)).toBe('127.0.0.1');
});

test('sign-ins that fail are counted by the forwarded address', async () => {
  const tries = (address: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () => signIn(proxied, forwarded(address), newAccessToken())),
    );
  const limited = await tries('203.0.113.50', 2 * failuresPerMinute);
  expect(limited.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  const [other] = await tries('203.0.113.51', 1);
  expect(other?.status).toBe(401);
});

test('without a public URL the protocol is what a trusted proxy says', async () => {
  const service = await startTestService({ SVC_TRUSTED_PROXIES: '127.0.0.1/32' });
  try {
    const secure = await signIn(service, forwarded('203.0.113.9', 'https'));
    expect(secure.headers.get('set-cookie')).toMatch(/^__Host-svc_session=.*Secure$/);
    const open = await signIn(service, forwarded('203.0.113.9', 'http'));
    expect(open.headers.get('set-cookie')).toMatch(/^svc_session=(?!.*Secure)/);
  } finally {
    await service.stop();
  }
});

import { expect, test } from 'vitest';
import { type Forgery, startForger } from '../../test/identity-forger.ts';
import { identitySettings, openBrowser, testPublicUrl } from '../../test/person.ts';
import { startReceiver } from '../../test/receiver.ts';
import { startTestService } from '../../test/service.ts';
import { use } from '../../test/use.ts';

const world = use(
  async () => {
    const forger = await startForger();
    const service = await startTestService(identitySettings(forger.issuer, 'x'.repeat(32)));
    return { forger, service };
  },
  async ({ forger, service }) => {
    await service.stop();
    await forger.stop();
  },
);

const begin = async (purpose?: 'page' | 'confirm') => {
  const browser = openBrowser(world.service);
  return { ...browser, url: await browser.begin(purpose) };
};

const seconds = (from: number) => Math.floor(Date.now() / 1000) + from;

/** Signs in with what the identity server says, which is as false as the forgery has it. */
async function signIn(forgery: Forgery, change: (answer: URLSearchParams) => void = () => {}) {
  const { call, cookies, url } = await begin();
  const answer = new URLSearchParams(world.forger.answer(url, forgery));
  change(answer);
  const taken = await call('POST', '/session', { answer: String(answer) });
  return { ...taken.json, hasSession: cookies.has('__Host-svc_session') };
}

const refused = { status: 401, code: 'identity_refused', hasSession: false };

test('what is honest is taken', async () => {
  expect(await signIn({})).toMatchObject({ kind: 'person', hasSession: true });
  // Clocks differ a little.
  expect(await signIn({ claims: { exp: seconds(-20) } })).toMatchObject({ kind: 'person' });
  expect(await signIn({ claims: { iat: seconds(20) } })).toMatchObject({ kind: 'person' });
});

test.each<[string, Forgery]>([
  ['for another audience', { claims: { aud: 'other' } }],
  [
    'for several, of which we are not the one it was made for',
    { claims: { aud: ['svcctl', 'x'], azp: 'x' } },
  ],
  ['with the nonce of another sign-in', { claims: { nonce: 'another' } }],
  ['without a nonce', { without: ['nonce'] }],
  ['of another issuer', { claims: { iss: 'https://elsewhere.example' } }],
  ['that has expired', { claims: { exp: seconds(-60) } }],
  ['that never expires', { without: ['exp'] }],
  ['of nobody', { without: ['sub'] }],
  ['that nobody has signed', { unsigned: true }],
  ['signed with a key that the server says nothing of', { foreignKey: 'as it is' }],
  ['signed with such a key under the name of its own', { foreignKey: 'as its own' }],
  ['signed with a key that it brings along', { foreignKey: 'in the token' }],
  ['signed with the client secret in place of a key', { hmac: 'the client secret' }],
  ['signed with the public key as a secret', { hmac: 'the public key' }],
  ['made in the future', { claims: { iat: seconds(600), exp: seconds(1200) } }],
  ['that counts later', { claims: { nbf: seconds(600), exp: seconds(1200) } }],
  ['that was changed after it was signed', { tamper: true }],
])('an ID token %s is refused', async (_what, forgery) => {
  expect(await signIn(forgery)).toMatchObject(refused);
});

test('nobody can have unsigned tokens taken by saying that the server makes such', async () => {
  const { forger } = world;
  forger.metadata = { id_token_signing_alg_values_supported: ['none', 'RS256'] };
  const service = await startTestService(identitySettings(forger.issuer, 'x'.repeat(32)));
  try {
    const browser = openBrowser(service);
    const answer = forger.answer(await browser.begin(), { unsigned: true });
    expect((await browser.call('POST', '/session', { answer })).json.code).toBe('identity_refused');
  } finally {
    forger.metadata = {};
    await service.stop();
  }
});

test('the answer of another server than the one that was asked is refused before it sees the code', async () => {
  const before = world.forger.exchanges();
  const other = (answer: URLSearchParams) => answer.set('iss', 'https://elsewhere.example');
  expect(await signIn({}, other)).toMatchObject(refused);
  expect(await signIn({}, (answer) => answer.delete('iss'))).toMatchObject(refused);
  expect(world.forger.exchanges()).toBe(before);
});

test('metadata of another issuer are not believed', async () => {
  const { forger } = world;
  forger.metadata = { issuer: 'https://elsewhere.example' };
  const service = await startTestService(identitySettings(forger.issuer, 'x'.repeat(32)));
  try {
    const begun = await openBrowser(service).call('POST', '/session/identity', { purpose: 'page' });
    expect(begun.json).toMatchObject({ status: 401, code: 'identity_refused' });
  } finally {
    forger.metadata = {};
    await service.stop();
  }
});

test('code, verifier and client secret are sent on to nobody, whatever the server answers', async () => {
  const { forger } = world;
  const thief = await startReceiver();
  forger.elsewhere = thief.url('/token');
  try {
    expect(await signIn({})).toMatchObject(refused);
    expect(thief.requests).toEqual([]);
  } finally {
    forger.elsewhere = null;
    await thief.close();
  }
});

test('a browser takes no answer that was meant for another one', async () => {
  const { forger } = world;
  const before = forger.exchanges();
  const attacker = await begin();
  const answer = forger.answer(attacker.url);
  // The victim has begun nothing, or something else.
  const victim = openBrowser(world.service);
  expect((await victim.call('POST', '/session', { answer })).json.code).toBe('identity_refused');
  await victim.begin();
  expect((await victim.call('POST', '/session', { answer })).json.code).toBe('identity_refused');
  expect(forger.exchanges()).toBe(before);
});

test('the code of another sign-in is of no use with the state of one’s own', async () => {
  const { forger } = world;
  const [victim, attacker] = [await begin(), await begin()];
  const stolen = new URLSearchParams(forger.answer(victim.url));
  const own = new URLSearchParams(forger.answer(attacker.url));
  own.set('code', stolen.get('code') ?? '');
  const answer = await attacker.call('POST', '/session', { answer: String(own) });
  expect(answer.json).toMatchObject({ status: 401, code: 'identity_refused' });
});

test('an answer is taken once, even by the browser that it was meant for', async () => {
  const { forger } = world;
  const { call, url, cookies } = await begin();
  const answer = forger.answer(url);
  const kept = new Map(cookies);
  expect((await call('POST', '/session', { answer })).status).toBe(200);
  expect((await call('POST', '/session', { answer })).json.code).toBe('identity_refused');
  for (const [name, value] of kept) cookies.set(name, value);
  expect((await call('POST', '/session', { answer })).json.code).toBe('identity_refused');
});

test('a state that was altered, doubled or left out fits nothing', async () => {
  const changes: ((answer: URLSearchParams) => void)[] = [
    (answer) => answer.set('state', `${answer.get('state')?.slice(1)}`),
    (answer) => answer.set('state', `${answer.get('state')?.replace('.page', '.window')}`),
    (answer) => answer.append('state', 'x'),
    (answer) => answer.append('code', 'x'),
    (answer) => answer.delete('state'),
    (answer) => answer.delete('code'),
    // Of a flow that was not asked for, in which the browser would bring the token.
    (answer) => answer.set('id_token', 'e30.e30.'),
    (answer) => answer.set('response', 'e30.e30.'),
  ];
  for (const change of changes) expect(await signIn({}, change)).toMatchObject(refused);
});

test('another site can neither begin a sign-in nor bring an answer', async () => {
  const { call, url } = await begin();
  const foreign = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' };
  const answer = world.forger.answer(url);
  for (const [path, body] of [
    ['/session/identity', { purpose: 'page' }],
    ['/session', { answer }],
  ] as const) {
    expect((await call('POST', path, body, foreign)).json.code, path).toBe('cross_site_refused');
  }
});

test('a confirmation needs to be fresh, and to say so', async () => {
  const { forger } = world;
  const { call, url } = await begin();
  expect((await call('POST', '/session', { answer: forger.answer(url) })).status).toBe(200);
  const confirm = async (forgery: Forgery) => {
    const browser = openBrowser(world.service);
    const begun = await call('POST', '/session/identity', { purpose: 'confirm' });
    expect(new URL(begun.json.url).searchParams.get('max_age')).toBe('0');
    expect(browser.cookies.size).toBe(0);
    const answer = forger.answer(begun.json.url, forgery);
    return (await call('POST', '/session/confirm', { answer })).json;
  };
  const old = await confirm({ claims: { auth_time: seconds(-400) } });
  expect(old).toMatchObject({ status: 401, code: 'identity_refused' });
  const early = await confirm({ claims: { auth_time: seconds(300) } });
  expect(early).toMatchObject({ status: 401, code: 'identity_refused' });
  expect(await confirm({ without: ['auth_time'] })).toMatchObject({ code: 'identity_refused' });
  expect(await confirm({ claims: { sub: 'eve' } })).toMatchObject({ code: 'identity_refused' });
  expect((await confirm({})).confirmed_until).toMatch(/Z$/);
});

test('the browser is led from the identity server to the console alone, whatever the answer says', async () => {
  for (const query of [
    'code=1&state=2',
    'from=https://elsewhere.example',
    '//elsewhere.example',
    '%0d%0aLocation:%20https://elsewhere.example',
  ]) {
    const place = `${world.service.url}/sign-in/callback?${query}`;
    const answer = await fetch(place, { redirect: 'manual' });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(`/#/sign-in?answer=${encodeURIComponent(query)}`);
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.getSetCookie()).toEqual([]);
  }
});

test('what the identity server refuses is told in its words, and put on record', async () => {
  const { call, url } = await begin();
  const state = new URL(url).searchParams.get('state') ?? '';
  const iss = world.forger.issuer;
  const said = String(new URLSearchParams({ error: 'access_denied', state, iss }));
  const answer = await call('POST', '/session', { answer: said });
  expect(answer.json.detail).toContain('it says access_denied');
  const [entry] = (await world.service.call('GET', '/audit?action=session.refuse')).json.data;
  expect(entry.after.code).toBe('identity_refused');
});

test('a name cannot look like another person’s address', async () => {
  const claims = { sub: 'eve', name: 'Boss <boss@acme.example>\u202e', email_verified: false };
  const taken = await signIn({ claims: { ...claims, preferred_username: 'eve' } });
  expect(taken.name).toBe('Boss boss@acme.example <eve>');
});

test('an address that nobody has verified is no group', async () => {
  const { forger } = world;
  const service = await startTestService({
    ...identitySettings(forger.issuer),
    SVC_OIDC_GROUPS_CLAIM: 'email',
    SVC_OIDC_GROUPS: '{"ada@acme.example":"curator"}',
  });
  try {
    const take = async (forgery: Forgery) => {
      const browser = openBrowser(service);
      const answer = forger.answer(await browser.begin(), forgery);
      return (await browser.call('POST', '/session', { answer })).json;
    };
    expect(await take({})).toMatchObject({ kind: 'person' });
    expect(await take({ claims: { email_verified: false } })).toMatchObject({ status: 403 });
  } finally {
    await service.stop();
  }
});

test('while the identity server is away, people are told so, and tokens sign in', async () => {
  const { forger } = world;
  const { call, url } = await begin();
  const answer = forger.answer(url);
  forger.status = 503;
  try {
    const away = await call('POST', '/session', { answer });
    expect(away.json).toMatchObject({ status: 503, code: 'identity_unavailable' });
    expect((await world.service.signIn()).answer.status).toBe(200);
  } finally {
    forger.status = null;
  }
});

test('without an identity server there is none to sign in at', async () => {
  const service = await startTestService({ SVC_PUBLIC_URL: testPublicUrl });
  try {
    const ways = await service.call('GET', '/session/ways', { token: null });
    expect(ways.json).toEqual({ identity: null });
    const browser = openBrowser(service);
    const begun = await browser.call('POST', '/session/identity', { purpose: 'page' });
    expect(begun.status).toBe(404);
    expect((await browser.call('POST', '/session', { answer: 'code=1' })).status).toBe(404);
  } finally {
    await service.stop();
  }
});

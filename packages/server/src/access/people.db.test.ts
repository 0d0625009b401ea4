import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { startIdentityServer, testClient } from '../../test/identity-server.mjs';
import { identitySettings, openBrowser, testPublicUrl } from '../../test/person.ts';
import { startTestService } from '../../test/service.ts';
import { use } from '../../test/use.ts';

const world = use(
  async () => {
    const identity = await startIdentityServer(testPublicUrl);
    const settings = identitySettings(identity.issuer, testClient.secret);
    const service = await startTestService({
      ...settings,
      SVC_SESSION_IDLE_MINUTES: '15',
      SVC_PERSON_VOUCH_DAYS: '30',
    });
    return { identity, service };
  },
  async ({ identity, service }) => {
    await service.stop();
    await identity.stop();
  },
);

/** A colleague signs in with a browser of their own. */
async function signIn(who: string) {
  const { identity, service } = world;
  const browser = openBrowser(service);
  const jar = new Map<string, string>();
  const goThere = async (purpose: 'page' | 'confirm') =>
    identity.visit(await browser.begin(purpose), jar, who);
  const answer = await browser.call('POST', '/session', { answer: await goThere('page') });
  const confirm = async () =>
    browser.call('POST', '/session/confirm', { answer: await goThere('confirm') });
  return { ...browser, answer, goThere, confirm };
}

/** What the audit log says of an action, the newest first. */
async function audited(action: string) {
  return (await world.service.call('GET', `/audit?action=${action}`)).json.data;
}

/** The ids of the tokens that the list says count no more, the newest first. */
async function suspended(): Promise<string[]> {
  const { data } = (await world.service.call('GET', '/tokens')).json;
  const rows = data as { id: string; is_suspended: boolean }[];
  return rows.flatMap(({ id, is_suspended }) => (is_suspended ? [id] : []));
}

const newToken = { name: 'pipeline', preset: 'pipeline' };

test('the sign-in page learns how the identity server is called', async () => {
  const answer = await world.service.call('GET', '/session/ways', { token: null });
  expect(answer.json).toEqual({ identity: { name: 'Acme' } });
});

test('a colleague signs in at the identity server, and the audit log names them', async () => {
  const { answer, call, cookies } = await signIn('ada');
  expect(answer.status, answer.text).toBe(200);
  expect(answer.json).toMatchObject({ kind: 'person', scopes: ['admin'], tenants: null });
  expect(answer.json.name).toBe('Ada King <ada@acme.example>');
  const [session] = answer.headers.getSetCookie().filter((text) => text.includes('svc_session'));
  expect(session).toMatch(
    /^__Host-svc_session=\w{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=3600; Secure$/,
  );
  expect([...cookies.keys()]).toEqual(['__Host-svc_session']);
  expect((await call('POST', '/exports/csv', { tenant: 'TX' })).status).toBe(200);
  const [exported] = await audited('export.csv');
  expect(exported.actor).toMatchObject({ kind: 'person', name: 'Ada King <ada@acme.example>' });
  const [opened] = await audited('session.open');
  expect(opened.actor.token_id).toBe(exported.actor.token_id);
  expect(opened.after).toEqual({ by: 'identity', scopes: ['admin'], tenants: null });
  const byId = await world.service.call('GET', `/audit?actor=${opened.actor.token_id}`);
  expect(byId.json.data.length).toBeGreaterThan(1);
  expect((await world.service.call('POST', '/audit/verify', { body: {} })).json.ok).toBe(true);
});

test('whoever signs in twice is the same person, whatever they are called by then', async () => {
  const { ada } = world.identity.colleagues;
  const rename = (name: string) => ada && Object.assign(ada, { name });
  await signIn('ada');
  rename('Ada Lovelace');
  await signIn('ada');
  const [newer, older] = await audited('session.open');
  expect(newer.actor.name).toBe('Ada Lovelace <ada@acme.example>');
  expect(newer.actor.token_id).toBe(older.actor.token_id);
  rename('Ada King');
});

test('groups say which tenants a colleague reaches', async () => {
  const { identity } = world;
  const one = await signIn('bob');
  expect(one.answer.json).toMatchObject({
    scopes: ['enrichment:read', 'analytics:read'],
    tenants: ['TX'],
  });
  expect((await one.call('GET', '/tokens')).json.code).toBe('scope_missing');
  expect((await one.call('GET', '/tokens')).json.detail).toContain('Bob Bee <bob@acme.example>');
  if (identity.colleagues.bob) identity.colleagues.bob.groups = ['desk-ca', 'desk-tx'];
  const both = await signIn('bob');
  expect(both.answer.json.tenants).toEqual(['TX', 'CA']);
  // What the earlier session may do follows.
  expect((await one.call('GET', '/me')).json.tenants).toEqual(['TX', 'CA']);
});

test('what a colleague made is refused when they have not signed in for so many days', async () => {
  const { service } = world;
  const { call, confirm } = await signIn('ada');
  await confirm();
  const body = { name: 'hers', preset: 'admin' };
  const { id: hers, token } = (await call('POST', '/tokens', body)).json;
  const made = (await service.call('POST', '/tokens', { token, body: newToken })).json;
  const own = openBrowser(service);
  expect((await own.call('POST', '/session', { token: made.token })).status).toBe(200);
  const stay = (days: number) =>
    service.db.query(sql`
      update access_tokens set last_used_at = now() - make_interval(days => ${days}) where issuer is not null`);
  const asked = async () => [
    await service.call('GET', '/me', { token }),
    await service.call('GET', '/me', { token: made.token }),
    await own.call('GET', '/me'),
    await openBrowser(service).call('POST', '/session', { token: made.token }),
  ];
  await stay(29);
  expect((await asked()).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(await suspended()).toEqual([]);
  await stay(30);
  for (const { json } of await asked()) {
    expect(json).toMatchObject({ status: 401, code: 'token_unvouched' });
    expect(json.detail).toContain('has not signed in for 30 days');
  }
  expect(await suspended()).toEqual([made.id, hers]);
  expect((await service.call('GET', '/me')).status).toBe(200);
  await signIn('ada');
  expect((await asked()).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('a colleague whose group is gone is shut out, with all that they have made', async () => {
  const { identity, service } = world;
  const { call, confirm } = await signIn('ada');
  await confirm();
  const made = await call('POST', '/tokens', newToken);
  expect(made.status, made.text).toBe(201);
  const me = () => service.call('GET', '/me', { token: made.json.token });
  expect((await me()).status).toBe(200);
  const { ada } = identity.colleagues;
  if (ada) ada.groups = ['chess'];
  const again = await signIn('ada');
  expect(again.answer.json).toMatchObject({ status: 403, code: 'person_refused' });
  expect(again.answer.json.detail).toContain('has chess');
  expect([...again.cookies.keys()]).toEqual([]);
  expect((await call('GET', '/me')).json.code).toBe('session_expired');
  expect((await me()).json.code).toBe('token_revoked');
  expect(await suspended()).toContain(made.json.id);
  const [refusal] = await audited('session.refuse');
  expect(refusal).toMatchObject({
    actor: { kind: 'person', name: 'Ada King <ada@acme.example>' },
    after: { code: 'person_refused' },
  });
  // With less than before the token stays shut out, and comes back with the group.
  if (ada) ada.groups = ['desk-tx'];
  expect((await signIn('ada')).answer.json.tenants).toEqual(['TX']);
  expect((await me()).json.code).toBe('token_revoked');
  if (ada) ada.groups = ['ops'];
  expect((await signIn('ada')).answer.status).toBe(200);
  expect((await me()).status).toBe(200);
  expect(await suspended()).toEqual([]);
});

test('a session ends when the identity server must vouch anew, and when nobody does anything', async () => {
  const { service } = world;
  const { call } = await signIn('ada');
  const left = async (column: 'expires_at' | 'idle_at') => {
    const [row] = await service.db.query<{ minutes: number }>(
      column === 'idle_at'
        ? sql`select round(extract(epoch from idle_at - now()) / 60)::int as minutes from sessions order by created_at desc limit 1`
        : sql`select round(extract(epoch from expires_at - now()) / 60)::int as minutes from sessions order by created_at desc limit 1`,
    );
    return row?.minutes;
  };
  expect([await left('expires_at'), await left('idle_at')]).toEqual([60, 15]);
  await service.db.query(sql`update sessions set idle_at = now() + interval '1 minute'`);
  // The page asks by itself; that keeps nothing open.
  expect((await call('GET', '/me')).status).toBe(200);
  expect(await left('idle_at')).toBe(1);
  await call('GET', '/me', undefined, { 'svcctl-active': '?1' });
  expect(await left('idle_at')).toBe(15);
  await service.db.query(sql`update sessions set idle_at = now() - interval '1 second'`);
  const active = { 'svcctl-active': '?1' };
  expect((await call('GET', '/me', undefined, active)).json.code).toBe('session_expired');
  const listed = (await service.call('GET', '/sessions')).json.data;
  expect(listed).toEqual([]);
});

test('signing out ends the session here, and says where it ends at the identity server', async () => {
  const { identity } = world;
  const { call } = await signIn('ada');
  const answer = await call('DELETE', '/session');
  expect(answer.status).toBe(200);
  expect((await call('GET', '/me')).status).toBe(401);
  const url = new URL(answer.json.url);
  expect(url.origin).toBe(identity.issuer);
  expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${testPublicUrl}/`);
  expect((await fetch(url)).status).toBe(200);
  // Without a session there is nothing to end anywhere.
  expect((await call('DELETE', '/session')).status).toBe(204);
});

test('what is destructive asks for a new sign-in, of the same person', async () => {
  const { identity } = world;
  const ada = await signIn('ada');
  const refused = await ada.call('POST', '/tokens', newToken);
  expect(refused.json).toMatchObject({ status: 403, code: 'step_up_required' });
  expect(refused.json.detail).toContain('by signing in anew');
  const url = new URL(await ada.begin('confirm'));
  expect(url.searchParams.get('prompt')).toBe('login');
  const body = { token: world.service.adminToken };
  expect((await ada.call('POST', '/session/confirm', body)).json.code).toBe('token_unknown');
  // An answer to a mere sign-in confirms nothing, and one to a confirmation opens no session.
  const plain = await ada.goThere('page');
  const mixed = await ada.call('POST', '/session/confirm', { answer: plain });
  expect(mixed.json.code).toBe('identity_refused');
  const proof = await ada.goThere('confirm');
  expect((await ada.call('POST', '/session', { answer: proof })).json.code).toBe(
    'identity_refused',
  );
  const other = await identity.visit(await ada.begin('confirm'), new Map(), 'bob');
  const byOther = await ada.call('POST', '/session/confirm', { answer: other });
  expect(byOther.json.code).toBe('identity_refused');
  expect(byOther.json.detail).toContain('It is not Ada King');
  expect((await ada.call('POST', '/tokens', newToken)).status).toBe(403);
  const confirmed = await ada.confirm();
  expect(confirmed.status, confirmed.text).toBe(200);
  expect((await ada.call('POST', '/tokens', newToken)).status).toBe(201);
});

test('a token that a person makes names them, and lives 90 days at most', async () => {
  const { service } = world;
  const ada = await signIn('ada');
  await ada.confirm();
  const made = (await ada.call('POST', '/tokens', newToken)).json;
  expect(made.creator.name).toBe('Ada King <ada@acme.example>');
  const days = (Date.parse(made.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(89.9);
  expect(days).toBeLessThanOrEqual(90);
  const longer = new Date(Date.now() + 91 * 86_400_000).toISOString();
  const late = await ada.call('POST', '/tokens', { ...newToken, expires_at: longer });
  expect(late.json.errors[0].message).toContain('lives 90 days at most');
  const ids = (await service.call('GET', '/tokens')).json.data.map(({ id }: { id: string }) => id);
  expect(ids).toContain(made.id);
  expect(ids.filter((id: string) => id.startsWith('usr_'))).toEqual([]);
  expect((await service.call('DELETE', `/tokens/${made.creator.id}`)).status).toBe(404);
  // What such a token makes belongs to the person, too.
  const admin = (await ada.call('POST', '/tokens', { name: 'own', preset: 'admin' })).json.token;
  const second = await service.call('POST', '/tokens', { token: admin, body: newToken });
  const [row] = await service.db.query<{ person_id: string }>(
    sql`select person_id from access_tokens where id = ${second.json.id}`,
  );
  expect(row?.person_id).toBe(made.creator.id);
});

test('the key of the identity server may change at any time', async () => {
  await signIn('ada');
  await world.identity.rotateKeys();
  expect((await signIn('ada')).answer.status).toBe(200);
});

test('the token that breaks the glass signs in beside the identity server, and sees who is there', async () => {
  const { service } = world;
  await signIn('ada');
  const { answer, headers } = await service.signIn();
  expect(answer.json).toMatchObject({ kind: 'token', name: 'first admin' });
  const own = { ...headers, origin: testPublicUrl };
  const out = await service.call('DELETE', '/session', { token: null, headers: own });
  expect(out.status).toBe(204);
  const { data } = (await service.call('GET', '/sessions')).json;
  expect(data[0].actor).toMatchObject({ kind: 'person', name: 'Ada King <ada@acme.example>' });
  // The link of the first start never signs in as a person.
  const [, code] = /code=(\w+)/.exec((await service.createSignInLink()) ?? '') ?? [];
  expect((await service.signIn({ code })).answer.json.name).toBe('first admin');
});

test('without PKCE the identity server is asked for nothing', async () => {
  const { identity, service } = world;
  const browser = openBrowser(service);
  const url = new URL(await browser.begin());
  expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  expect(url.searchParams.get('redirect_uri')).toBe(`${testPublicUrl}/sign-in/callback`);
  for (const name of ['code_challenge', 'code_challenge_method']) url.searchParams.delete(name);
  const answer = await identity.visit(url.href, new Map(), 'ada');
  const taken = await browser.call('POST', '/session', { answer });
  expect(taken.json.code).toBe('identity_refused');
});

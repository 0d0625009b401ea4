import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { createLog } from '../app.ts';
import { apiContract, type RouteContract } from '../contract.ts';
import { createHttpServer } from '../platform/http/server.ts';

const service = useTestService();

const signIn = (body: object) => service.signIn(body);

const me = (headers: Record<string, string>) =>
  service.call('GET', '/me', { token: null, headers });

test('a token opens a session behind a cookie that scripts cannot read and other sites cannot send', async () => {
  const { token } = await service.makeToken({ name: 'ops', preset: 'curator', tenants: ['TX'] });
  const { answer, cookie, headers } = await signIn({ token: ` ${token}\n` });
  expect(answer.json).toMatchObject({ name: 'ops', tenants: ['TX'] });
  expect(cookie).toMatch(/^svc_session=\w{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=86400$/);
  expect((await me(headers)).json.name).toBe('ops');
  expect(answer.text).not.toContain(token);
});

test.each([
  [{ token: 'geheim' }, 401, 'token_malformed'],
  [{ token: '' }, 401, 'token_missing'],
  [{ code: 'geheim' }, 401, 'sign_in_link_invalid'],
  [{}, 400, 'request_invalid'],
  [{ token: 'a', code: 'b' }, 400, 'request_invalid'],
])('signing in with %j answers %i %s and sets no cookie', async (body, status, code) => {
  const { answer, cookie } = await signIn(body);
  expect(answer.status).toBe(status);
  expect(answer.json.code).toBe(code);
  expect(cookie).toBe('');
});

test('a session dies with its token, on signing out, and in the end by itself', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  const [first, second, third] = [
    await signIn({ token: made.token }),
    await signIn({ token: made.token }),
    await signIn({ token: made.token }),
  ];
  const out = await service.call('DELETE', '/session', { token: null, headers: first.headers });
  expect(out.status).toBe(204);
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
  expect((await me(first.headers)).json.code).toBe('session_expired');
  expect((await me(second.headers)).status).toBe(200);
  await service.db.query(
    sql`update sessions set expires_at = now() - interval '1 second' where token_id = ${made.id}`,
  );
  expect((await me(second.headers)).json.code).toBe('session_expired');
  const fourth = await signIn({ token: made.token });
  await service.call('DELETE', `/tokens/${made.id}`);
  expect((await me(fourth.headers)).json.code).toBe('token_revoked');
  expect((await me(third.headers)).status).toBe(401);
});

test.each([
  [{ 'sec-fetch-site': 'cross-site' }],
  [{ 'sec-fetch-site': 'same-site' }],
  [{ origin: 'https://elsewhere.example' }],
  [{ origin: 'null' }],
])('a write with a session from %j is refused', async (from) => {
  const { headers } = await signIn({ token: service.adminToken });
  const body = { name: 'x', preset: 'pipeline' };
  const answer = await service.call('POST', '/tokens', {
    token: null,
    headers: { ...headers, ...from },
    body,
  });
  expect(answer.json).toMatchObject({ status: 403, code: 'cross_site_refused' });
  const options = { token: null, headers: { ...headers, ...from } };
  expect((await service.call('DELETE', '/session', options)).status).toBe(403);
  expect((await me(headers)).status).toBe(200);
});

test('a write with a session from the console itself is taken', async () => {
  const { headers } = await signIn({ token: service.adminToken });
  const answer = await service.call('POST', '/exports/csv', {
    token: null,
    headers: { ...headers, 'sec-fetch-site': 'same-origin', origin: service.url },
    body: { tenant: 'T' },
  });
  expect(answer.status).toBe(200);
});

test('a sign-in link works once', async () => {
  const link = await service.createSignInLink();
  expect(link).toContain(`${service.url}/#/sign-in?code=`);
  const code = link?.split('code=')[1] ?? '';
  const { answer, headers } = await signIn({ code });
  expect(answer.json.scopes).toEqual(['admin']);
  expect((await me(headers)).status).toBe(200);
  expect((await signIn({ code })).answer.json.code).toBe('sign_in_link_invalid');
});

test('a sign-in link is dead after an hour', async () => {
  const link = await service.createSignInLink();
  await service.db.query(sql`update sign_in_links set expires_at = now() - interval '1 second'`);
  const { answer } = await signIn({ code: link?.split('code=')[1] });
  expect(answer.json.code).toBe('sign_in_link_invalid');
});

test('the database holds no cookie and no code', async () => {
  const { headers } = await signIn({ token: service.adminToken });
  const link = await service.createSignInLink();
  const rows = JSON.stringify(
    await service.db.query(sql`
      select sessions::text as row from sessions union all select sign_in_links::text from sign_in_links`),
  );
  expect(rows).not.toContain(headers.cookie.split('=')[1]);
  expect(rows).not.toContain(link?.split('code=')[1]);
});

const listed = async (options: { token?: string; headers?: Record<string, string> } = {}) => {
  const answer = await service.call('GET', '/sessions', options);
  expect(answer.status, answer.text).toBe(200);
  return answer.json.data as { id: string; actor: { token_id: string }; is_current: boolean }[];
};

test('sessions are listed with where they were opened, and without their secrets', async () => {
  const curator = await service.makeToken({ preset: 'curator' });
  const { id, token } = await service.makeToken({ name: 'lists', preset: 'admin' });
  const { headers, cookie } = await signIn({ token });
  await signIn({ token: curator.token });
  const own = await service.call('GET', '/sessions', { token: null, headers });
  expect(own.text).not.toContain(cookie.slice('svc_session='.length, 40));
  const mine = own.json.data.find((session: { is_current: boolean }) => session.is_current);
  expect(mine).toEqual({
    id: expect.stringMatching(/^ses_/),
    actor: { kind: 'token', token_id: id, name: 'lists' },
    created_at: expect.any(String),
    expires_at: expect.any(String),
    address: '127.0.0.1',
    user_agent: 'node',
    is_current: true,
  });
  expect((await listed()).filter(({ is_current }) => is_current)).toEqual([]);
  expect((await listed()).some((session) => session.actor.token_id === curator.id)).toBe(true);
});

test('a token limited to tenants sees and ends only sessions of tokens that reach no others', async () => {
  const limited = await service.makeToken({ preset: 'admin', tenants: ['S1'] });
  const same = await service.makeToken({ preset: 'curator', tenants: ['S1'] });
  const wide = await service.makeToken({ preset: 'curator' });
  for (const { token } of [same, wide]) await signIn({ token });
  const seen = await listed({ token: limited.token });
  expect(seen.map(({ actor }) => actor.token_id)).toEqual([same.id]);
  const foreign = (await listed()).find(({ actor }) => actor.token_id === wide.id);
  const end = (id: string | undefined) =>
    service.call('DELETE', `/sessions/${id}`, { token: limited.token });
  expect((await end(foreign?.id)).json.code).toBe('session_not_found');
  expect((await end(seen[0]?.id)).status).toBe(204);
  expect((await end(seen[0]?.id)).json.code).toBe('session_not_found');
  expect(await listed({ token: limited.token })).toEqual([]);
});

test('a session that somebody ended is over at once, and its token stays; the log tells who did it', async () => {
  const { id, token } = await service.makeToken({ preset: 'curator' });
  const { headers } = await signIn({ token });
  const session = (await listed()).find((each) => each.actor.token_id === id);
  await service.call('DELETE', `/sessions/${session?.id}`);
  expect((await me(headers)).json.code).toBe('session_expired');
  expect((await service.call('GET', '/me', { token })).status).toBe(200);
  const { data } = (await service.call('GET', '/audit?action=session.end&limit=1')).json;
  expect(data).toMatchObject([{ target: session?.id, before: { token_id: id } }]);
});

test('signing out everywhere ends all sessions of the token, and no other', async () => {
  const { id, token } = await service.makeToken({ preset: 'curator' });
  const other = await service.makeToken({ preset: 'curator' });
  const [first, second, third] = [
    await signIn({ token }),
    await signIn({ token }),
    await signIn({ token: other.token }),
  ];
  const out = await service.call('DELETE', '/sessions', { token: null, headers: first.headers });
  expect(out.status).toBe(204);
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
  for (const { headers } of [first, second]) {
    expect((await me(headers)).json.code).toBe('session_expired');
  }
  expect((await me(third.headers)).status).toBe(200);
  const { data } = (await service.call('GET', `/audit?actor=${id}&limit=1`)).json;
  expect(data).toMatchObject([{ action: 'session.end_all', after: { sessions: 2 } }]);
});

/** Calls of a console session that this token opens. */
async function openConsole(token = service.adminToken) {
  const { answer, headers } = await service.signIn({ token });
  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { token: null, headers, body });
  return { answer, headers, call };
}

const newToken = { name: 'x', preset: 'pipeline' };
const confirmed = (minutes: number) =>
  service.db.query(
    sql`update sessions set confirmed_until = now() + make_interval(mins => ${minutes}::int)`,
  );

const routes = Object.values<RouteContract>(apiContract);

test.each([
  [{ discard: true }, 403],
  [{ discard: 'yes' }, 403],
  [{ discard: false }, 200],
  [{ discard: 0, other: 1 }, 403],
  [{ other: 1 }, 400],
  [undefined, 200],
])('where only a field of the body is destructive, %j answers %i', async (body, status) => {
  expect(await statusOf({ when: ['discard'] }, body)).toBe(status);
});

test.each([
  [{ discard: true }, 200],
  [{ discard: 'yes' }, 403],
  [{ discard: false }, 403],
  [{ discard: true, other: 1 }, 400],
  [{ other: 1 }, 403],
  [undefined, 403],
])('where a field of the body only asks, %j answers %i', async (body, status) => {
  expect(await statusOf({ unless: 'discard' }, body)).toBe(status);
});

/** What a session that has not confirmed gets of a route with this step-up. */
async function statusOf(
  stepUp: NonNullable<RouteContract['stepUp']>,
  body: object | undefined,
): Promise<number> {
  const http = createHttpServer({
    jsonBodyMaxBytes: 1000,
    log: createLog('silent'),
    authenticate: async () => ({
      tokenId: 'tok_1',
      name: 'ops',
      scopes: ['admin'],
      tenants: null,
      expiresAt: null,
      session: { confirmedUntil: null },
    }),
    admit: async () => {},
    assertReady: () => {},
  });
  const contract = {
    id: 'x',
    method: 'PATCH',
    path: '/x',
    tag: 'X',
    summary: 'X',
    scope: 'admin',
    stepUp,
    body: Type.Object({ discard: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
    responses: { 200: { description: 'Done.' } },
  } as const satisfies RouteContract;
  http.route(contract, async () => ({}));
  const answer = await http.fastify.inject({
    method: 'PATCH',
    url: '/api/v1/x',
    ...(body !== undefined && { payload: body }),
  });
  await http.fastify.close();
  return answer.statusCode;
}

test('the fields that make a route destructive are of its body', () => {
  for (const { id, stepUp, body } of routes) {
    if (typeof stepUp !== 'object') continue;
    const { properties = {} } = (body ?? {}) as { properties?: object };
    const fields = 'when' in stepUp ? stepUp.when : [stepUp.unless];
    expect(Object.keys(properties), id).toEqual(expect.arrayContaining([...fields]));
  }
});

test('only a session can be confirmed', async () => {
  const body = { token: service.adminToken };
  const withToken = await service.call('POST', '/session/confirm', { body });
  expect(withToken.json).toMatchObject({ status: 401, code: 'session_expired' });
});

test('a session is confirmed only while it lives', async () => {
  const body = { token: service.adminToken };
  const { call } = await openConsole();
  await call('DELETE', '/session');
  expect((await call('POST', '/session/confirm', body)).json.code).toBe('session_expired');
});

test('a body that is not one token is refused', async () => {
  const { call } = await openConsole();
  for (const body of [{}, { token: 5 }, { token: service.adminToken, code: 'x' }]) {
    expect((await call('POST', '/session/confirm', body)).status).toBe(400);
  }
});

test('no other token confirms a session, not even another admin’s', async () => {
  const other = await service.makeToken({ preset: 'admin' });
  const { call } = await openConsole();
  const answer = await call('POST', '/session/confirm', { token: other.token });
  expect(answer.json).toMatchObject({ status: 401, code: 'token_unknown' });
  expect(answer.json.detail).toContain('not the access token of the session');
  const mistyped = await call('POST', '/session/confirm', { token: 'svc_x' });
  expect(mistyped.json).toMatchObject({ status: 401, code: 'token_malformed' });
  expect((await call('POST', '/tokens', newToken)).json.code).toBe('step_up_required');
});

test('a call with the token itself needs no confirmation, also beside a cookie', async () => {
  expect((await service.call('POST', '/tokens', { body: newToken })).status).toBe(201);
  const { headers } = await openConsole();
  const both = await service.call('POST', '/tokens', { headers, body: newToken });
  expect(both.status).toBe(201);
  expect((await service.call('GET', '/me', { headers })).json.confirmed_until).toBeNull();
});

test('a change of an endpoint needs one where it sends data elsewhere from now on', async () => {
  const { call } = await openConsole();
  const moved = await call('PATCH', '/webhook/endpoints/ep_x', { url: 'https://192.0.2.1/in' });
  expect(moved.json.code).toBe('step_up_required');
  const other = await call('PATCH', '/webhook/endpoints/ep_x', { rate_limit: 5 });
  expect(other.json.code).toBe('endpoint_not_found');
});

test('a session that gives its token again may do what is destructive for ten minutes, it alone', async () => {
  const [first, second] = [await openConsole(), await openConsole()];
  expect(first.answer.json.confirmed_until).toBeNull();
  const answer = await first.call('POST', '/session/confirm', {
    token: ` ${service.adminToken}\n`,
  });
  expect(answer.status).toBe(200);
  const until = answer.json.confirmed_until;
  const [kept] = await service.db.query(sql`
    select count(*) as sessions from sessions where confirmed_until between now() + interval '9 minutes'
      and now() + interval '10 minutes'`);
  expect(kept).toEqual({ sessions: 1 });
  expect((await first.call('GET', '/me')).json.confirmed_until).toBe(until);
  const made = await first.call('POST', '/tokens', newToken);
  expect(made.status).toBe(201);
  expect((await first.call('DELETE', `/tokens/${made.json.id}`)).status).toBe(204);
  expect((await second.call('POST', '/tokens', newToken)).json.code).toBe('step_up_required');

  const [entry] = (await service.call('GET', '/audit?action=session.confirm')).json.data;
  expect(entry).toMatchObject({ target: null, after: { confirmed_until: until } });
});

test('a confirmation ends, and can be given again', async () => {
  const { call } = await openConsole();
  await call('POST', '/session/confirm', { token: service.adminToken });
  await confirmed(-1);
  expect((await call('GET', '/me')).json.confirmed_until).toBeNull();
  expect((await call('POST', '/tokens', newToken)).json.code).toBe('step_up_required');
  await call('POST', '/session/confirm', { token: service.adminToken });
  expect((await call('POST', '/tokens', newToken)).status).toBe(201);
});

import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { createLog } from '../app.ts';
import { apiContract, type RouteContract } from '../contract.ts';
import { createHttpServer } from '../platform/http/server.ts';

const service = useTestService();

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
  const http = createHttpServer({
    jsonBodyMaxBytes: 1000,
    log: createLog('silent'),
    authenticate: async () => ({
      ...{ tokenId: 'tok_1', name: 'ops', scopes: ['admin'], tenants: null, expiresAt: null },
      session: { confirmedUntil: null },
    }),
    admit: () => {},
    assertReady: () => {},
  });
  const contract = {
    ...{ id: 'x', method: 'PATCH', path: '/x', tag: 'X', summary: 'X', scope: 'admin' },
    stepUp: { when: 'discard' },
    body: Type.Object({ discard: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
    responses: { 200: { description: 'Done.' } },
  } as const satisfies RouteContract;
  http.route(contract, async () => ({}));
  const answer = await http.fastify.inject({
    method: 'PATCH',
    url: '/api/v1/x',
    ...(body !== undefined && { payload: body }),
  });
  expect(answer.statusCode).toBe(status);
  await http.fastify.close();
});

test('the field that makes a route destructive is one of its body', () => {
  for (const { id, stepUp, body } of routes) {
    if (typeof stepUp !== 'object') continue;
    const { properties = {} } = (body ?? {}) as { properties?: object };
    expect(Object.keys(properties), id).toContain(stepUp.when);
  }
});

test('only a session can be confirmed', async () => {
  const body = { token: service.adminToken };
  const without = await service.call('POST', '/session/confirm', { token: null, body });
  expect(without.json).toMatchObject({ status: 401, code: 'token_missing' });
  const withToken = await service.call('POST', '/session/confirm', { body });
  expect(withToken.json).toMatchObject({ status: 401, code: 'session_expired' });
});

test('a session is confirmed only from the console, and only while it lives', async () => {
  const body = { token: service.adminToken };
  const { call, headers } = await openConsole();
  const foreign = await service.call('POST', '/session/confirm', {
    token: null,
    headers: { ...headers, origin: 'https://elsewhere.example' },
    body,
  });
  expect(foreign.json).toMatchObject({ status: 403, code: 'cross_site_refused' });
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

test('what is not destructive needs no confirmation', async () => {
  const { call } = await openConsole();
  expect((await call('GET', '/tokens')).status).toBe(200);
  expect((await call('POST', '/exports/csv', { tenant: 'T' })).status).toBe(200);
});

test('what sends data elsewhere from now on needs one: new endpoints, changed URLs, new targets of notices', async () => {
  const { call } = await openConsole();
  const url = 'https://192.0.2.1/in';
  for (const [method, path, body] of [
    ['POST', '/webhook/endpoints', { tenant: 'T', url }],
    ['PATCH', '/webhook/endpoints/ep_x', { url }],
    ['POST', '/notify/targets', { kind: 'webhook', url }],
  ] as const) {
    expect((await call(method, path, body)).json.code, path).toBe('step_up_required');
  }
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

import { stat } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';
import { newAccessToken } from '../kernel/ids.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

test.each([
  ['no token', null, 'token_missing'],
  ['a token that is not one', 'geheim', 'token_malformed'],
  ['a mistyped token', `${newAccessToken().slice(0, -1)}!`, 'token_malformed'],
  ['a token of somewhere else', newAccessToken(), 'token_unknown'],
])('answers 401 to %s', async (_name, token, code) => {
  const answer = await service.call('GET', '/me', { token });
  expect(answer.status).toBe(401);
  expect(answer.json.code).toBe(code);
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(answer.headers.get('www-authenticate')).toContain('Bearer');
  expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'));
});

test('answers 401 to an expired token', async () => {
  const made = await service.makeToken({ preset: 'curator', expires_at: '2199-01-01T00:00:00Z' });
  expect((await service.call('GET', '/me', made)).status).toBe(200);
  await service.db.query(
    sql`update access_tokens set expires_at = now() - interval '1 second' where id = ${made.id}`,
  );
  expect((await service.call('GET', '/me', made)).json.code).toBe('token_expired');
});

test('answers 401 to a revoked token at once, and 404 to revoking it again', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  expect((await service.call('GET', '/me', made)).status).toBe(200);
  expect((await service.call('DELETE', `/tokens/${made.id}`)).status).toBe(204);
  expect((await service.call('GET', '/me', made)).json.code).toBe('token_revoked');
  expect((await service.call('DELETE', `/tokens/${made.id}`)).json.code).toBe('token_not_found');
});

test.each([
  ['GET', '/tokens', 'support-readonly', 'admin'],
  ['POST', '/tokens', 'curator', 'admin'],
  ['DELETE', '/tokens/tok_x', 'curator', 'admin'],
  ['GET', '/audit', 'curator', 'admin'],
  ['GET', '/enrichment/datasets', 'pipeline', 'enrichment:read'],
  ['GET', '/enrichment/records', 'pipeline', 'enrichment:read'],
  ['GET', '/enrichment/records/one', 'pipeline', 'enrichment:read'],
  ['POST', '/enrichment/records', 'curator', 'enrichment:write'],
  ['POST', '/exports/csv', 'pipeline', 'analytics:read'],
])('answers 403 to %s %s with the preset %s, and names %s', async (method, path, preset, scope) => {
  const { token } = await service.makeToken({ preset });
  const body = method === 'POST' ? { nonsense: true } : undefined;
  const answer = await service.call(method, `${path}?also=wrong`, { token, body });
  expect(answer.status).toBe(403);
  expect(answer.json).toMatchObject({
    code: 'scope_missing',
    detail: expect.stringContaining(scope),
  });
});

test('admin includes every scope', async () => {
  for (const path of ['/tokens', '/enrichment/datasets', '/enrichment/records']) {
    expect((await service.call('GET', path)).status).toBe(200);
  }
});

test('/me tells name, scopes, tenants and expiry', async () => {
  const { token } = await service.makeToken({
    name: 'ops laptop',
    scopes: ['enrichment:read'],
    tenants: ['TX'],
    expires_at: '2199-01-01T00:00:00Z',
  });
  const answer = await service.call('GET', '/me', { token });
  expect(answer.json).toEqual({
    name: 'ops laptop',
    scopes: ['enrichment:read'],
    tenants: ['TX'],
    expires_at: '2199-01-01T00:00:00.000000Z',
    confirmed_until: null,
  });
});

test.each([
  [{}, '/name', 'field_required'],
  [{ name: '' }, '/name', 'value_invalid'],
  [{ name: 'x' }, '/preset', 'value_invalid'],
  [{ name: 'x', preset: 'root' }, '/preset', 'value_invalid'],
  [{ name: 'x', preset: 'admin', scopes: ['admin'] }, '/preset', 'value_invalid'],
  [{ name: 'x', scopes: [] }, '/scopes', 'value_invalid'],
  [{ name: 'x', scopes: ['everything'] }, '/scopes/0', 'value_invalid'],
  [{ name: 'x', preset: 'admin', tenants: [] }, '/tenants', 'value_invalid'],
  [{ name: 'x', preset: 'admin', tenants: 'TX' }, '/tenants', 'type_invalid'],
  [{ name: 'x', preset: 'admin', expires_at: 'tomorrow' }, '/expires_at', 'value_invalid'],
  [
    { name: 'x', preset: 'admin', expires_at: '2001-01-01T00:00:00Z' },
    '/expires_at',
    'value_invalid',
  ],
  [{ name: 'x', preset: 'admin', role: 'x' }, '/role', 'field_unknown'],
  [{ name: 5, preset: 'admin' }, '/name', 'type_invalid'],
])('refuses to make a token of %j', async (body, path, code) => {
  const before = (await service.call('GET', '/tokens')).json.data.length;
  const answer = await service.call('POST', '/tokens', { body });
  expect(answer.status).toBe(400);
  expect(answer.json.code).toBe('request_invalid');
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path, code }));
  expect((await service.call('GET', '/tokens')).json.data).toHaveLength(before);
});

test.each([
  ['text that is not JSON', '{"name":', 'application/json', 400, 'json_invalid'],
  [
    'another media type',
    'name=x',
    'application/x-www-form-urlencoded',
    415,
    'media_type_unsupported',
  ],
  ['2 MiB', `"${'x'.repeat(2 ** 21)}"`, 'application/json', 413, 'body_too_large'],
])('refuses a body of %s', async (_name, body, type, status, code) => {
  const answer = await service.call('POST', '/tokens', { body, headers: { 'content-type': type } });
  expect(answer.status).toBe(status);
  expect(answer.json.code).toBe(code);
});

test('a token shows once, is stored as a hash, and its use is noted', async () => {
  const made = await service.makeToken({ name: 'shown once', preset: 'pipeline' });
  const [listed] = (await service.call('GET', '/tokens')).json.data;
  expect(listed).toMatchObject({ id: made.id, name: 'shown once', last_used_at: null });
  expect(listed).not.toHaveProperty('token');
  const rows = await service.db.query(sql`select access_tokens::text as row from access_tokens`);
  expect(JSON.stringify(rows)).not.toContain(made.token.slice(4, 30));
  await service.call('GET', '/me', made);
  const [used] = (await service.call('GET', '/tokens')).json.data;
  expect(used.last_used_at).toMatch(/^\d{4}-.*Z$/);
});

test('the first admin token lies in a file that only its owner reads', async () => {
  expect((await stat(service.adminTokenPath)).mode & 0o777).toBe(0o600);
});

test('an unknown path answers 404, also without a token', async () => {
  const answer = await service.call('GET', '/nothing', { token: null });
  expect(answer.status).toBe(404);
  expect(answer.json.code).toBe('route_not_found');
});

test('an unknown query parameter is refused before anything else is done', async () => {
  const answer = await service.call('GET', '/me?verbose=1');
  expect(answer.json.errors).toEqual([
    { path: '?verbose', code: 'field_unknown', message: 'there is no such parameter' },
  ]);
});

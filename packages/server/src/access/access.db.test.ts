import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import type { Actor } from '../kernel/actor.ts';
import { hashSecret } from '../kernel/ids.ts';
import { findTokensByHash } from './queries.ts';
import { createToken } from './tokens.ts';

const service = useTestService();

test('a refused caller is told how to come in', async () => {
  const answer = await service.call('GET', '/me', { token: null });
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(answer.headers.get('www-authenticate')).toContain('Bearer');
  expect(answer.json.request_id).toBe(answer.headers.get('x-request-id'));
});

test('answers 401 to a revoked token at once, and 404 to revoking it again', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  expect((await service.call('GET', '/me', made)).status).toBe(200);
  expect((await service.call('DELETE', `/tokens/${made.id}`)).status).toBe(204);
  expect((await service.call('GET', '/me', made)).json.code).toBe('token_revoked');
  expect((await service.call('DELETE', `/tokens/${made.id}`)).json.code).toBe('token_not_found');
});

test('a connection plans the look-up of a token five times, and then never again', async () => {
  const hash = hashSecret((await service.makeToken({ preset: 'curator' })).token);
  await service.db.withConnection(async (connection) => {
    for (let i = 0; i < 10; i++) expect(await findTokensByHash(connection, [hash])).toHaveLength(1);
    const [plans] = await connection.query<{ custom_plans: number; generic_plans: number }>(
      sql`select custom_plans::int, generic_plans::int from pg_prepared_statements
        where statement like ${'%from access_tokens where hash%'}`,
    );
    expect(plans?.custom_plans).toBe(5);
    expect(plans?.generic_plans).toBeGreaterThanOrEqual(5);
  });
});

test('/me tells name, scopes, tenants and expiry', async () => {
  const { id, token } = await service.makeToken({
    name: 'ops laptop',
    scopes: ['enrichment:read'],
    tenants: ['TX'],
    expires_at: '2199-01-01T00:00:00Z',
  });
  const answer = await service.call('GET', '/me', { token });
  expect(answer.json).toEqual({
    id,
    kind: 'token',
    name: 'ops laptop',
    scopes: ['enrichment:read'],
    tenants: ['TX'],
    stores: null,
    expires_at: '2199-01-01T00:00:00.000000Z',
    confirmed_until: null,
  });
});

// Who has scripts that make tokens relies on it: a preset may be added, and none changes.
test.each([
  ['support-readonly', ['enrichment:read', 'analytics:read']],
  ['viewer', ['enrichment:read', 'analytics:read', 'webhooks:read']],
  ['pipeline', ['enrichment:write', 'incidents:write']],
  ['curator', ['enrichment:read', 'analytics:read', 'datasets:write']],
  ['on-call', ['enrichment:read', 'dlq:operate']],
  ['webhooks', ['webhooks:manage']],
  ['auditor', ['audit:read']],
  ['admin', ['admin']],
])('the preset %s keeps its scopes', async (preset, scopes) => {
  const { token } = await service.makeToken({ preset });
  expect((await service.call('GET', '/me', { token })).json.scopes).toEqual(scopes);
});

test.each([
  [{}, '/name', 'field_required'],
  [{ name: '' }, '/name', 'value_invalid'],
  [{ name: 'svcctl', preset: 'admin' }, '/name', 'value_invalid'],
  [{ name: ' This\u200b  MACHINE', preset: 'admin' }, '/name', 'value_invalid'],
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

test('an unknown query parameter is refused before anything else is done', async () => {
  const answer = await service.call('GET', '/me?verbose=1');
  expect(answer.json.errors).toEqual([
    { path: '?verbose', code: 'field_unknown', message: 'there is no such parameter' },
  ]);
});

const expiry = '2199-01-01T00:00:00.000000Z';
const makeWith = async (token: string, request: Record<string, unknown>) => {
  const answer = await service.call('POST', '/tokens', {
    token,
    body: { name: 'made', ...request },
  });
  return answer;
};

test('a minted token expires with its creator, or earlier when asked, and never later', async () => {
  const maker = await service.makeToken({ name: 'brief', preset: 'admin', expires_at: expiry });
  const made = await makeWith(maker.token, { preset: 'admin' });
  expect(made.json).toMatchObject({ expires_at: expiry, creator: { id: maker.id, name: 'brief' } });
  const earlier = await makeWith(made.json.token, {
    preset: 'pipeline',
    expires_at: '2198-12-31T00:00:00Z',
  });
  expect(earlier.json.expires_at).toBe('2198-12-31T00:00:00.000000Z');
  const later = await makeWith(made.json.token, {
    preset: 'pipeline',
    expires_at: '2199-01-01T00:00:00.000001Z',
  });
  expect(later.status).toBe(400);
  expect(later.json.errors).toEqual([
    {
      path: '/expires_at',
      code: 'value_invalid',
      message: `is after ${expiry}, when your own token expires`,
    },
  ]);
});

test('a token limited to tenants makes none that reaches others, or all', async () => {
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['TX'] });
  for (const reach of [{}, { tenants: ['TX', 'CA'] }]) {
    const { json } = await makeWith(token, { preset: 'curator', ...reach });
    expect(json).toMatchObject({ status: 400, errors: [{ path: '/tenants' }] });
  }
});

test('a console session mints with the expiry of the token that it stands for', async () => {
  const maker = await service.makeToken({ preset: 'admin', expires_at: expiry });
  const { headers } = await service.signIn({ token: maker.token });
  const call = (path: string, body: unknown) =>
    service.call('POST', path, { token: null, headers, body });
  await call('/session/confirm', { token: maker.token });
  const made = await call('/tokens', { name: 'x', preset: 'curator' });
  expect(made.json).toMatchObject({ expires_at: expiry, creator: { id: maker.id } });
});

test.each([
  ['expires', { expires_at: expiry }],
  ['is limited to tenants', { tenants: ['T1', 'T2'] }],
])('with a token that %s go those that it made, and those that these made', async (_, bounds) => {
  const maker = await service.makeToken({ preset: 'admin', ...bounds });
  const reach = 'tenants' in bounds ? { tenants: ['T1'] } : {};
  const second = (await makeWith(maker.token, { preset: 'admin', ...reach })).json;
  const third = (await makeWith(second.token, { preset: 'curator', ...reach })).json;
  expect((await service.call('GET', '/me', third)).status).toBe(200);
  expect((await service.call('DELETE', `/tokens/${maker.id}`)).status).toBe(204);
  for (const { token } of [maker, second, third]) {
    expect((await service.call('GET', '/me', { token })).json.code).toBe('token_revoked');
  }
  const { data } = (await service.call('GET', '/audit?action=token.revoke&limit=3')).json;
  const told = data.map((entry: { target: string; after: unknown }) => [entry.target, entry.after]);
  expect(told).toEqual(
    expect.arrayContaining([
      [maker.id, null],
      [second.id, { revoked_with: maker.id }],
      [third.id, { revoked_with: maker.id }],
    ]),
  );
});

test('what an unlimited admin without expiry made outlives it', async () => {
  const maker = await service.makeToken({ preset: 'admin' });
  const made = (await makeWith(maker.token, { preset: 'curator' })).json;
  expect(made.expires_at).toBeNull();
  await service.call('DELETE', `/tokens/${maker.id}`);
  expect((await service.call('GET', '/me', made)).status).toBe(200);
  const [listed] = (await service.call('GET', '/tokens')).json.data;
  expect(listed).toMatchObject({ id: made.id, creator: { id: maker.id, name: 'test' } });
});

test('a token that is being revoked leaves none behind that it makes at the same time', async () => {
  const maker = await service.makeToken({ preset: 'admin', expires_at: expiry });
  const creator: Actor = {
    tokenId: maker.id,
    name: 'x',
    scopes: ['admin'],
    tenants: null,
    expiresAt: expiry,
  };
  let isRevoked = false;
  const isWaitedFor = async () => {
    const [row] = await service.db.query<{ count: number }>(sql`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    return (row?.count ?? 0) > 0;
  };
  const { made, revoking } = await service.db.transaction(async (connection) => {
    const request = { name: 'late', preset: 'pipeline' } as const;
    const made = await createToken(connection, request, { creator, nowMillis: Date.now() });
    const revoking = service.call('DELETE', `/tokens/${maker.id}`).finally(() => {
      isRevoked = true;
    });
    while (!isRevoked && !(await isWaitedFor()));
    return { made, revoking };
  });
  expect((await revoking).status).toBe(204);
  expect((await service.call('GET', '/me', made)).json.code).toBe('token_revoked');
  expect((await makeWith(maker.token, { preset: 'pipeline' })).status).toBe(401);
});

test('the first token and those made on the machine itself have no creator', async () => {
  const listed = (await service.call('GET', '/tokens')).json.data;
  expect(listed.at(-1)).toMatchObject({ name: 'first admin', creator: null });
});

test('presets allow what their names say: on call, webhooks, auditor, viewer, support and pipeline', async () => {
  const statusOf = async (preset: string, method: string, path: string, body?: object) => {
    const { token } = await service.makeToken({ preset, expires_at: expiry });
    return (await service.call(method, path, { token, ...(body && { body }) })).status;
  };
  expect(await statusOf('on-call', 'POST', '/webhook/dlq/retry', { dry_run: true })).toBe(200);
  expect(await statusOf('on-call', 'GET', '/webhook/dlq/jobs')).toBe(200);
  expect(await statusOf('on-call', 'POST', '/webhook/dlq/purge', { dry_run: true })).toBe(403);
  expect(await statusOf('on-call', 'DELETE', '/webhook/dlq/dlv_1')).toBe(403);
  expect(await statusOf('on-call', 'GET', '/audit')).toBe(403);
  // What is made for a tenant's webhooks retries its own, one by one, as ever.
  expect(await statusOf('webhooks', 'POST', '/webhook/dlq/retry', { dry_run: true })).toBe(403);
  expect(await statusOf('webhooks', 'POST', '/webhook/dlq/dlv_1/retry')).toBe(404);
  expect(await statusOf('auditor', 'GET', '/audit')).toBe(200);
  expect(await statusOf('auditor', 'GET', '/tokens')).toBe(200);
  expect(await statusOf('auditor', 'POST', '/tokens', { name: 'x', preset: 'auditor' })).toBe(403);
  expect(await statusOf('auditor', 'GET', '/enrichment/records')).toBe(403);
  expect(await statusOf('viewer', 'GET', '/webhook/deliveries')).toBe(200);
  expect(await statusOf('viewer', 'POST', '/webhook/dlq/dlv_1/retry')).toBe(403);
  expect(await statusOf('support-readonly', 'GET', '/stats/deliveries')).toBe(403);
  expect(await statusOf('pipeline', 'GET', '/incidents')).toBe(403);
});

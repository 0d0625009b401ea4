import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';

const service = useTestService({ SVC_TRUSTED_PROXIES: '127.0.0.0/8' });

const from = (address: string) => ({ 'x-forwarded-for': address });
const me = (token: string, headers = {}) => service.call('GET', '/me', { token, headers });
const rotate = (id: string, token: string, body: object = {}, headers = {}) =>
  service.call('POST', `/tokens/${id}/rotate`, { token, body, headers });
const make = (token: string, body: object, headers = {}) =>
  service.call('POST', '/tokens', {
    token,
    headers,
    body: { name: 'made', preset: 'curator', ...body },
  });
const endOverlap = (id: string) =>
  service.db.query(sql`update access_tokens set previous_ends_at = now() where id = ${id}`);
const auditOf = async (action: string, id: string) =>
  (await service.all(`/audit?action=${action}&limit=500`)).filter(({ target }) => target === id);

test('a token is taken only from the networks that it is limited to, and the refusal does not name them', async () => {
  const addresses = ['10.1.0.0/16', '192.0.2.7', '2001:db8::/32'];
  const made = await service.makeToken({ preset: 'curator', addresses });
  const listed = (await service.call('GET', '/tokens')).json.data[0];
  expect(listed.addresses).toEqual(['10.1.0.0/16', '192.0.2.7/32', '2001:db8::/32']);
  for (const address of ['10.1.2.3', '192.0.2.7', '2001:db8::1', '::ffff:10.1.2.3']) {
    expect((await me(made.token, from(address))).status, address).toBe(200);
  }
  for (const address of ['10.2.0.1', '192.0.2.8', '2001:db9::1', '10.1.2.3, 192.0.2.8']) {
    const { status, json } = await me(made.token, from(address));
    expect([status, json.code], address).toEqual([403, 'address_refused']);
    expect(JSON.stringify(json)).not.toMatch(/10\.1\.0\.0|192\.0\.2\.7|db8::\/32/);
  }
  // Four refusals, written down once.
  expect(await auditOf('token.refuse', made.id)).toMatchObject([
    { actor: { token_id: made.id }, address: '10.2.0.1', after: { code: 'address_refused' } },
  ]);
});

test('a console session counts only from where its token does', async () => {
  const { token } = await service.makeToken({ preset: 'admin', addresses: ['10.0.0.1'] });
  const { answer, cookie } = await service.signIn({ token }, from('10.0.0.1'));
  expect(answer.status).toBe(200);
  const call = (address: string) =>
    service.call('GET', '/me', { token: null, headers: { cookie, ...from(address) } });
  expect((await call('10.0.0.1')).status).toBe(200);
  expect((await call('10.0.0.2')).json.code).toBe('address_refused');
  const elsewhere = await service.signIn({ token }, from('10.0.0.2'));
  expect(elsewhere.answer.json.code).toBe('address_refused');
});

test('a token that is limited to addresses makes none that reaches further', async () => {
  const maker = await service.makeToken({ preset: 'admin', addresses: ['10.0.0.0/8'] });
  const at = from('10.0.0.1');
  expect((await make(maker.token, {}, at)).json.addresses).toEqual(['10.0.0.0/8']);
  expect((await make(maker.token, { addresses: ['10.2.0.0/16'] }, at)).status).toBe(201);
  for (const wider of ['0.0.0.0/0', '10.0.0.0/7', '11.0.0.1', '::/0']) {
    const { status, json } = await make(maker.token, { addresses: [wider] }, at);
    expect([status, json.errors?.[0]?.path], wider).toEqual([400, '/addresses/0']);
  }
});

test.each([
  '10.0.0.0/33',
  'localhost',
  '10.1',
  '::ffff:10.0.0.0/104',
  '10.0.0.0/8/8',
  '0x0a000000',
])('%s is no network', async (network) => {
  expect((await make(service.adminToken, { addresses: [network] })).json).toMatchObject({
    code: 'request_invalid',
    errors: [{ path: '/addresses/0' }],
  });
});

test('after a rotation both secrets are taken until the overlap ends, then the new one alone', async () => {
  const made = await service.makeToken({ preset: 'curator', tenants: ['TX'] });
  const { status, json } = await rotate(made.id, service.adminToken, { overlap_seconds: 3600 });
  expect([status, json.id, json.tenants]).toEqual([200, made.id, ['TX']]);
  expect(json.overlap_until).toMatch(/Z$/);
  expect((await me(made.token)).json.tenants).toEqual(['TX']);
  expect((await me(json.token)).json.tenants).toEqual(['TX']);
  await endOverlap(made.id);
  expect((await me(made.token)).json.code).toBe('token_expired');
  expect((await me(json.token)).status).toBe(200);
  const [entry] = await auditOf('token.rotate', made.id);
  expect(JSON.stringify(entry)).not.toContain(json.token.slice(4, 20));
});

test('a rotation without overlap ends the old secret at once, and another rotation the one before', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  const first = (await rotate(made.id, service.adminToken)).json;
  const second = (await rotate(made.id, service.adminToken)).json;
  expect((await me(made.token)).json.code).toBe('token_unknown');
  expect((await me(first.token)).status).toBe(200);
  await rotate(made.id, service.adminToken, { overlap_seconds: 0 });
  expect((await me(first.token)).json.code).toBe('token_unknown');
  expect((await me(second.token)).json.code).toBe('token_unknown');
});

test('a revocation ends both secrets', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  const { token } = (await rotate(made.id, service.adminToken)).json;
  await service.call('DELETE', `/tokens/${made.id}`);
  expect((await me(made.token)).json.code).toBe('token_revoked');
  expect((await me(token)).json.code).toBe('token_revoked');
  expect((await rotate(made.id, service.adminToken)).json.code).toBe('token_not_found');
});

test('of a secret that was rotated out comes nothing that outlives its overlap', async () => {
  const made = await service.makeToken({ preset: 'admin' });
  const open = await service.signIn({ token: made.token });
  const { token } = (await rotate(made.id, made.token)).json;
  expect((await me(made.token)).status).toBe(200);
  const code = async (answer: ReturnType<typeof rotate>) => (await answer).json.code;
  expect(await code(rotate(made.id, made.token))).toBe('secret_rotated_out');
  expect(await code(make(made.token, {}))).toBe('secret_rotated_out');
  const link = { token: made.token, body: { tenant: 'TX' } };
  expect(await code(service.call('POST', '/webhook/portal-links', link))).toBe(
    'secret_rotated_out',
  );
  const download = { token: made.token, body: { tenant: 'TX', delivery: 'link' } };
  expect(await code(service.call('POST', '/exports/csv', download))).toBe('secret_rotated_out');
  const { answer } = await service.signIn({ token: made.token });
  expect(answer.json.code).toBe('secret_rotated_out');
  // Nor does a session that was opened with it.
  expect((await service.call('GET', '/me', { token: null, headers: open.headers })).status).toBe(
    401,
  );
  expect((await rotate(made.id, token)).status).toBe(200);
});

test('of two rotations at once by one secret only one is done', async () => {
  const made = await service.makeToken({ preset: 'admin' });
  const answers = await Promise.all([rotate(made.id, made.token), rotate(made.id, made.token)]);
  const [done] = answers.filter(({ status }) => status === 200);
  const [refused] = answers.filter(({ status }) => status !== 200);
  expect(refused?.json.code).toBe('secret_rotated_out');
  expect((await me(done?.json.token)).status).toBe(200);
});

test('whoever is limited rotates itself and what it made, and nothing else', async () => {
  const limits = { preset: 'admin', tenants: ['TX'], expires_at: '2199-01-01T00:00:00Z' };
  const limited = await service.makeToken(limits);
  const sibling = await service.makeToken(limits);
  const child = (await make(limited.token, { tenants: ['TX'] })).json;
  const foreign = await service.makeToken({ preset: 'curator', tenants: ['CA'] });
  const wide = await service.makeToken({ preset: 'admin' });
  const code = async (id: string) => (await rotate(id, limited.token)).json.code;
  expect(await code(sibling.id)).toBe('rotation_refused');
  expect(await code(foreign.id)).toBe('token_not_found');
  expect(await code(wide.id)).toBe('token_not_found');
  expect((await me(sibling.token)).status).toBe(200);
  expect((await rotate(child.id, limited.token)).json).toMatchObject({
    tenants: ['TX'],
    expires_at: '2199-01-01T00:00:00.000000Z',
  });
  expect((await rotate(limited.id, limited.token)).status).toBe(200);
  const [row] = (await service.call('GET', '/tokens')).json.data.filter(
    ({ id }: { id: string }) => id === limited.id,
  );
  expect(row).toMatchObject({ tenants: ['TX'], expires_at: '2199-01-01T00:00:00.000000Z' });
});

test('an admin that expires, or is limited to addresses, does not get at the secret of one that is not', async () => {
  const victim = await service.makeToken({ preset: 'admin' });
  const short = await service.makeToken({ preset: 'admin', expires_at: '2199-01-01T00:00:00Z' });
  const local = await service.makeToken({ preset: 'admin', addresses: ['127.0.0.1'] });
  for (const { token } of [short, local]) {
    expect((await rotate(victim.id, token)).json.code).toBe('rotation_refused');
  }
  expect((await me(victim.token)).status).toBe(200);
});

test.each([
  { overlap_seconds: -1 },
  { overlap_seconds: 2_592_001 },
  { overlap_seconds: 'x' },
  { x: 1 },
])('a rotation refuses %j', async (body) => {
  const made = await service.makeToken({ preset: 'curator' });
  expect((await rotate(made.id, service.adminToken, body)).json.code).toBe('request_invalid');
  expect((await me(made.token)).status).toBe(200);
});

test('tokens that nobody has used for long are listed alone, without those that are new, in use or expired', async () => {
  const names = async (token: string) =>
    (await service.call('GET', '/tokens?unused_days=90', { token })).json.data.map(
      ({ name }: { name: string }) => name,
    );
  const limits = { preset: 'admin', tenants: ['Old'] };
  const { token } = await service.makeToken({ ...limits, name: 'in use' });
  for (const name of ['unused', 'expired', 'long ago', 'new']) {
    await service.makeToken({ ...limits, name });
  }
  await service.db.query(sql`
    update access_tokens set created_at = now() - interval '91 days',
      last_used_at = case name when 'long ago' then now() - interval '90 days 1 minute' when 'in use' then now() end,
      expires_at = case name when 'expired' then now() end
    where tenants = '{Old}' and name <> 'new'`);
  expect((await names(token)).sort()).toEqual(['long ago', 'unused']);
  expect((await service.call('GET', '/tokens?unused_days=0')).json.code).toBe('request_invalid');
});

test('who only manages tokens makes, rotates and revokes none that may do more, and what it made ends with it', async () => {
  const maker = await service.makeToken({ scopes: ['tokens:manage', 'webhooks:manage'] });
  const admin = await service.makeToken({ preset: 'admin' });
  const other = await service.makeToken({ preset: 'curator' });
  const lesser = await service.makeToken({ scopes: ['endpoints:manage'] });
  const revoke = (id: string, token: string) => service.call('DELETE', `/tokens/${id}`, { token });
  for (const wider of [
    { preset: 'admin' },
    { preset: 'curator' },
    { preset: undefined, scopes: ['webhooks:read', 'dlq:operate'] },
  ]) {
    expect((await make(maker.token, wider)).json.code).toBe('scope_missing');
  }
  for (const { id, token } of [admin, other]) {
    expect((await rotate(id, maker.token)).json.code).toBe('rotation_refused');
    expect((await revoke(id, maker.token)).json.code).toBe('scope_missing');
    expect((await me(token)).status).toBe(200);
  }
  const own = { preset: undefined, scopes: ['endpoints:manage', 'audit:read', 'tokens:manage'] };
  const made = (await make(maker.token, own)).json;
  expect((await rotate(made.id, maker.token)).status).toBe(200);
  expect((await rotate(lesser.id, maker.token)).status).toBe(200);
  expect((await revoke(lesser.id, maker.token)).status).toBe(204);
  const { token } = (await rotate(made.id, maker.token)).json;
  expect((await me(token)).status).toBe(200);
  expect((await revoke(maker.id, service.adminToken)).status).toBe(204);
  expect((await me(token)).json.code).toBe('token_revoked');
});

test('a token that a person made counts while a scope of the person includes its own', async () => {
  await service.db.query(sql`
    insert into access_tokens (id, hash, name, scopes, issuer, subject)
    values ('usr_lead', sha256('lead'), 'Lin', '{webhooks:manage}', 'https://id.example', 'lin')`);
  const made = await service.makeToken({ scopes: ['endpoints:manage', 'incidents:read'] });
  await service.db.query(
    sql`update access_tokens set person_id = 'usr_lead' where id = ${made.id}`,
  );
  const code = async () => (await me(made.token)).json.code;
  expect(await code()).toBeUndefined();
  for (const lost of ['{deliveries:retry}', '{}', '{endpoints:manage}', '{webhooks:read}']) {
    await service.db.query(
      sql`update access_tokens set scopes = ${lost}::text[] where id = 'usr_lead'`,
    );
    expect(await code(), lost).toBe(lost === '{endpoints:manage}' ? undefined : 'token_revoked');
  }
});

import sql from 'sql-template-tag';
import { beforeAll, expect, test, vi } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { storeScopes } from '../kernel/values.ts';
import { createToken } from './tokens.ts';

const service = useTestService();

const record = (tenant: string, store: string, n: number) => ({
  tenant,
  store,
  event_id: `e${n}`,
  occurred_at: `2024-0${(n % 2) + 1}-03T12:00:0${n}Z`,
  enrichment: { n },
});
const stored = [
  ...[0, 1, 2].map((n) => record('TX', 'DFW', n)),
  ...[0, 1].map((n) => record('TX', 'AUS', n)),
  record('TX', 'dfw', 0),
  record('CA', 'DFW', 0),
];

let own: { id: string; token: string };
/** Calls as the token of TX/DFW. */
const call = (method: string, path: string, body?: unknown, headers = {}) =>
  service.call(method, path, { token: own.token, headers, ...(body !== undefined && { body }) });
const create = (body: object, token = service.adminToken) =>
  service.call('POST', '/tokens', {
    token,
    body: { name: 'x', scopes: ['enrichment:read'], ...body },
  });
const refusal = ({ status, json }: Awaited<ReturnType<typeof call>>) => [
  status,
  json?.code,
  json?.errors?.[0]?.path,
];
const countsOf = ({ json }: Awaited<ReturnType<typeof call>>) =>
  json.data.map((row: Record<string, unknown>) => [row.tenant, row.store, row.month, row.count]);

beforeAll(async () => {
  const { json } = await service.call('POST', '/enrichment/records', { body: { records: stored } });
  expect(json.accepted).toBe(stored.length);
  // January is cold, February hot as far as late records are.
  await service.retain();
  const late = [record('TX', 'DFW', 4), record('TX', 'AUS', 4)];
  await service.call('POST', '/enrichment/records', { body: { records: late } });
  const tag = { tenant: 'TX', dataset: 'training' };
  await service.call('POST', '/enrichment/tags', { body: { ...tag, store: 'DFW' } });
  own = await service.makeToken({ scopes: storeScopes, stores: ['TX/DFW'] });
});

test.each<[object, string]>([
  [{ scopes: ['enrichment:read', 'datasets:write'] }, '/scopes'],
  [{ scopes: ['admin'] }, '/scopes'],
  [{ scopes: undefined, preset: 'viewer' }, '/preset'],
  [{ scopes: undefined, preset: 'pipeline' }, '/preset'],
  [{ tenants: ['TX'] }, '/stores'],
  [{ stores: [] }, '/stores'],
  [{ stores: ['TX/DFW', 'TX/DFW'] }, '/stores'],
  [{ stores: 'TX/DFW' }, '/stores'],
  ...[
    'TX',
    'TX/',
    '/DFW',
    '',
    '/',
    'TX/DFW/1',
    '*/DFW',
    'TX/*',
    'TX/..',
    '../DFW',
    'TX/\u0001',
  ].map((name): [object, string] => [{ stores: [name] }, '/stores/0']),
  [{ stores: [`TX/${'x'.repeat(129)}`] }, '/stores/0'],
  [{ stores: ['TX/DF\u200bW'] }, '/stores'],
  [{ stores: undefined, tenants: ['TX/DFW'] }, '/tenants/0'],
])('refuses to make a token of %j', async (body, path) => {
  const before = await service.all('/tokens?');
  expect(refusal(await create({ stores: ['TX/DFW'], ...body }))).toEqual([
    400,
    'request_invalid',
    path,
  ]);
  expect(await service.all('/tokens?')).toEqual(before);
});

test('the machine itself makes none of a tenant called like a store, nor one that may do more', async () => {
  const make = (more: object) =>
    createToken(
      service.db,
      { name: 'x', scopes: ['admin'], ...more },
      { creator: null, nowMillis: Date.now() },
    );
  for (const more of [{ tenants: ['TX/DFW'] }, { stores: ['TX/DFW'] }, { stores: ['TX'] }]) {
    await expect(make(more)).rejects.toMatchObject({ code: 'request_invalid' });
  }
});

test('it is told of its stores, and the database keeps them where another release looks for tenants', async () => {
  const { json } = await call('GET', '/me');
  expect(json).toMatchObject({ tenants: ['TX'], stores: ['TX/DFW'] });
  const [row] = await service.db.query<{ tenants: string[]; is_of_tenant: boolean }>(sql`
    select tenants, tenants <@ '{TX}'::text[] as is_of_tenant from access_tokens where id = ${own.id}`);
  // No tenant is called so: what reads this as tenants alone answers such a token as a stranger.
  expect(row).toEqual({ tenants: ['TX/DFW'], is_of_tenant: false });
  const { status } = await service.call('POST', '/enrichment/records', {
    body: { records: [{ ...record('TX', 'DFW', 5), tenant: 'TX/DFW' }] },
  });
  expect(status).toBe(200);
  expect(await service.db.query(sql`select from leaf_tenants where tenant ~ '/'`)).toEqual([]);
});

test('an admin of the tenant makes, lists, rotates and revokes it, one of another neither', async () => {
  const admin = await service.makeToken({ preset: 'admin', tenants: ['TX'] });
  const other = await service.makeToken({ preset: 'admin', tenants: ['CA'] });
  const made = await create({ stores: ['TX/DFW', 'TX/AUS'] }, admin.token);
  expect(made.json).toMatchObject({ tenants: ['TX'], stores: ['TX/DFW', 'TX/AUS'] });
  for (const stores of [['CA/DFW'], ['TX/DFW', 'CA/DFW'], ['tx/DFW']]) {
    expect(refusal(await create({ stores }, admin.token))).toEqual([
      400,
      'request_invalid',
      '/stores',
    ]);
  }
  const { id } = made.json;
  const idsOf = async (token: string) =>
    (await service.all('/tokens?', token)).map((row: { id: string }) => row.id);
  expect(await idsOf(admin.token)).toContain(id);
  expect(await idsOf(other.token)).not.toContain(id);
  const rotate = (token: string) =>
    service.call('POST', `/tokens/${id}/rotate`, { token, body: { overlap_seconds: 0 } });
  expect((await rotate(other.token)).status).toBe(404);
  const rotated = await rotate(admin.token);
  expect(rotated.json).toMatchObject({ tenants: ['TX'], stores: ['TX/DFW', 'TX/AUS'] });
  const tokens = await service.call('GET', '/enrichment/datasets?level=tenant', {
    token: rotated.json.token,
  });
  expect(countsOf(tokens)).toEqual([['TX', null, null, 7]]);
  const revoke = (token: string) => service.call('DELETE', `/tokens/${id}`, { token });
  expect((await revoke(other.token)).status).toBe(404);
  expect((await revoke(admin.token)).status).toBe(204);
  const log = (await service.all('/audit?action=token.', admin.token)).filter(
    ({ target }) => target === id,
  );
  expect(log.map(({ action }) => action)).toEqual(['token.revoke', 'token.rotate', 'token.create']);
  expect(log.at(-1)).toMatchObject({ tenants: ['TX'], after: { tenants: ['TX/DFW', 'TX/AUS'] } });
  expect(
    (await service.all('/audit?action=token.', other.token)).map((e) => e.target),
  ).not.toContain(id);
  const both = await create({ stores: ['TX/DFW', 'CA/SFO'] });
  const [seen] = (await service.all('/audit?action=token.create', admin.token)).filter(
    ({ target }) => target === both.json.id,
  );
  expect(seen).toMatchObject({ tenants: ['TX'], after: { tenants: ['TX/DFW'] } });
  const found = await service.all('/audit?q=CA/SFO', admin.token);
  expect(found.map(({ target }) => target)).not.toContain(both.json.id);
});

test('what a person made counts while they reach the tenant of its stores', async () => {
  const made = await service.makeToken({ scopes: ['enrichment:read'], stores: ['TX/DFW'] });
  const reach = (tenants: string[] | null) =>
    service.db.query(sql`
      insert into access_tokens (id, hash, name, scopes, tenants, issuer, subject, last_used_at)
      values ('usr_1', '\\x00', 'Ada', '{admin}', ${tenants}, 'https://id.example', 'ada', now())
      on conflict (id) do update set tenants = excluded.tenants`);
  await reach(['TX', 'CA']);
  await service.db.query(sql`update access_tokens set person_id = 'usr_1' where id = ${made.id}`);
  const me = async () => (await service.call('GET', '/me', { token: made.token })).status;
  expect(await me()).toBe(200);
  await reach(['CA']);
  expect(await me()).toBe(401);
  await reach(null);
  expect(await me()).toBe(200);
});

test('the tree has the tenant, with its stores alone, and their sums and coverage', async () => {
  const tree = (query: string) => call('GET', `/enrichment/datasets?${query}`);
  const tenants = await tree('level=tenant');
  expect(countsOf(tenants)).toEqual([['TX', null, null, 4]]);
  // The tag is of this store: of the whole tenant, two of seven records would not be covered.
  expect(tenants.json.data[0]).toMatchObject({ coverage: 1, covered: 4, tier: 'mixed' });
  const ofStore = await tree('level=store');
  expect(countsOf(ofStore)).toEqual([['TX', 'DFW', null, 4]]);
  expect({ ...tenants.json.data[0], store: 'DFW' }).toEqual(ofStore.json.data[0]);
  const months = [
    ['TX', 'DFW', '2024-01', 3],
    ['TX', 'DFW', '2024-02', 1],
  ];
  for (const query of ['', 'tenant=TX', 'tenant=TX&store=DFW', 'store=DFW', 'include=days']) {
    expect(countsOf(await tree(query)), query).toEqual(months);
  }
  expect(countsOf(await tree('level=tenant&month=2024-02'))).toEqual([['TX', null, null, 1]]);
  expect(countsOf(await tree('level=tenant&store=DFW'))).toEqual([['TX', null, null, 4]]);
  for (const query of [
    'tenant=CA',
    'store=AUS',
    'store=dfw',
    'level=store&q=A',
    'level=tenant&q=C',
  ])
    expect(countsOf(await tree(query)), query).toEqual([]);
  const { json } = await call('GET', '/stats/records');
  expect(
    json.data.map((sum: Record<string, number>) => [sum.month, sum.hot_count, sum.cold_count]),
  ).toEqual([
    ['2024-01', 1, 2],
    ['2024-02', 0, 1],
  ]);
  expect((await call('GET', '/stats/records?tenant=CA')).json.data).toEqual([]);
});

test('pages, counts, days and facts are of its store; of another as of a tenant that is not there', async () => {
  const paths = ['/enrichment/records', '/enrichment/records/count', '/enrichment/days'];
  const questions = [...paths, '/enrichment/facts', '/enrichment/fields', '/exports/estimate'];
  for (const path of questions) {
    const own = await call('GET', `${path}?tenant=TX&store=DFW`);
    expect([own.status, JSON.stringify(own.json)], path).toEqual([
      200,
      expect.not.stringMatching(/AUS/),
    ]);
    const nobody = await call('GET', `${path}?tenant=NO&store=AUS`);
    for (const place of [
      'tenant=TX&store=AUS',
      'tenant=CA&store=DFW',
      'tenant=TX&store=dfw',
      'tenant=tx&store=DFW',
    ]) {
      const { status, json } = await call('GET', `${path}?${place}`);
      expect([place, status, json]).toEqual([place, nobody.status, nobody.json]);
    }
    expect(refusal(await call('GET', `${path}?tenant=TX`)).slice(0, 2), path).toEqual([
      403,
      'whole_tenant_required',
    ]);
    for (const place of [
      'tenant=TX&store=DFW&store=AUS',
      'tenant=TX&store=AUS&store=DFW',
      'tenant=TX&tenant=CA&store=DFW',
      'tenant=TX&store=',
      'tenant=TX&store=DFW%2F..%2FAUS',
      'tenant=TX%2FDFW&store=AUS',
      'tenant=TX%2FDFW&store=',
      'tenant=TX&store=DFW%00',
    ]) {
      expect(
        refusal(await call('GET', `${path}?${place}`)).slice(0, 2),
        `${path}?${place}`,
      ).toEqual([400, 'request_invalid']);
    }
  }
  const { json } = await call('GET', '/enrichment/records?tenant=TX&store=DFW');
  expect(json.data).toHaveLength(4);
  const find = (store: string) =>
    call('GET', `/enrichment/records?tenant=TX&store=${store}&event_id=e4`);
  expect((await find('DFW')).json.data).toHaveLength(1);
  expect((await find('AUS')).json.data).toEqual([]);
  const one = (store: string) => {
    const { occurred_at: at } = record('TX', store, 0);
    return call(
      'GET',
      `/enrichment/records/one?tenant=TX&store=${store}&occurred_at=${at}&event_id=e0`,
    );
  };
  expect((await one('DFW')).status).toBe(200);
  expect((await one('AUS')).status).toBe(404);
});

test('it stores records of its store, also by what checks the token as it stores', async () => {
  const { token } = await service.makeToken({
    scopes: ['enrichment:write'],
    stores: ['MIX/A', 'MIX/B'],
  });
  const records = [
    ['MIX', 'A'],
    ['MIX', 'C'],
    ['TX', 'A'],
    ['MIX', 'a'],
    ['MIX', 'B'],
  ].map(([tenant = '', store = '']) => record(tenant, store, 0));
  const send = (body: unknown, headers = {}) =>
    service.call('POST', '/enrichment/records', { token, body, headers });
  const wanted = (accepted: number, duplicates: number) => ({
    accepted,
    duplicates,
    rejected: [1, 2, 3].map((index) => ({ index, code: 'tenant_not_allowed' })),
    rejected_count: 3,
  });
  // From the second call on the token is known, and checked by the statement that stores.
  expect((await send({ records })).json).toMatchObject(wanted(2, 0));
  expect((await send({ records })).json).toMatchObject(wanted(0, 2));
  const lines = records.map((each) => `${JSON.stringify(each)}\n`).join('');
  const ndjson = { 'content-type': 'application/x-ndjson' };
  expect((await send(lines, ndjson)).json).toMatchObject(wanted(0, 2));
  const leaves = await service.all('/enrichment/datasets?tenant=MIX');
  expect(leaves.map(({ store }) => store)).toEqual(['A', 'B']);
});

test('it counts for no import of the tenant, and follows no tail, which tell of other stores', async () => {
  const { token } = await service.makeToken({ scopes: ['enrichment:write'], stores: ['IMP/A'] });
  const whole = await service.makeToken({ preset: 'pipeline', tenants: ['IMP'] });
  const body = { digest: 'c'.repeat(64), files: 1, total: 1 };
  const begin = (by: string) =>
    service.call('POST', '/enrichment/imports/jobs', { body, token: by });
  const { id } = (await begin(whole.token)).json;
  const records = [record('IMP', 'A', 0)];
  const path = `/enrichment/records?import=${id}`;
  const sent = await service.call('POST', path, { body: { records }, token });
  expect(refusal(sent)).toEqual([404, 'job_not_found', undefined]);
  expect(await service.all('/enrichment/datasets?tenant=IMP')).toEqual([]);
  for (const refused of [
    await begin(token),
    await call('GET', '/enrichment/records/tail?tenant=TX&store=DFW&follow=false'),
  ]) {
    expect(refusal(refused)).toEqual([403, 'whole_tenant_required', undefined]);
  }
});

test('it exports its store, streamed, by a link and as a job, and sees no job of more than that', async () => {
  const csv = (body: object, headers = {}, token = own.token) =>
    service.call('POST', '/exports/csv', { token, body: { tenant: 'TX', ...body }, headers });
  const linesOf = ({ text }: { text: string }) => text.trim().split('\n').length - 1;
  expect(linesOf(await csv({ store: 'DFW' }))).toBe(4);
  expect(linesOf(await csv({ store: 'AUS' }))).toBe(0);
  expect((await csv({})).json.code).toBe('whole_tenant_required');
  expect((await csv({ version: 'ver_1' })).json.code).toBe('whole_tenant_required');
  expect(refusal(await csv({ store: 'DFW', version: 'ver_1' }))).toEqual([
    400,
    'request_invalid',
    '/store',
  ]);
  expect((await csv({ store: ['DFW'] })).status).toBe(400);

  const { url } = (await csv({ store: 'DFW', delivery: 'link' })).json;
  const file = await service.call('GET', url.replace('/api/v1', ''), { token: null });
  expect([file.status, linesOf(file)]).toEqual([200, 4]);

  const asJob = { prefer: 'respond-async' };
  const { id } = (await csv({ store: 'DFW' }, asJob)).json;
  expect((await csv({ store: 'AUS' }, asJob)).status).toBe(400);
  const admins = await Promise.all(
    [{}, { store: 'AUS' }, { store: 'DFW' }].map((body) => csv(body, asJob, service.adminToken)),
  );
  const [whole = '', other = '', same = ''] = admins.map(({ json }) => json.id);
  const isDone = async (job: string) =>
    (await service.call('GET', `/exports/${job}`)).json.state === 'completed';
  for (const job of [id, whole, other, same]) await vi.waitUntil(() => isDone(job), 60_000);
  const idsOf = ({ json }: Awaited<ReturnType<typeof call>>) =>
    new Set(json.data.map((job: { id: string }) => job.id));
  for (const list of [
    '/exports',
    '/exports?tenant=TX',
    '/jobs?kind=export',
    '/jobs',
    '/jobs?tenant=TX',
  ]) {
    expect(idsOf(await call('GET', list)), list).toEqual(new Set([id, same]));
  }
  expect(linesOf(await call('GET', `/exports/${id}/file`))).toBe(4);
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/file'],
    ['GET', '/manifest'],
    ['DELETE', ''],
  ] as const) {
    for (const job of [whole, other]) {
      expect((await call(method, `/exports/${job}${path}`)).status, path).toBe(404);
    }
  }
  expect((await call('GET', `/jobs/${whole}`)).status).toBe(404);
  expect((await call('POST', `/jobs/${other}/cancel`)).status).toBe(404);
  expect((await call('DELETE', `/exports/${same}`)).json.code).toBe('scope_missing');
  expect((await call('DELETE', `/exports/${id}`)).status).toBe(200);

  // The admins of the tenant see what it took along, and nobody else.
  const admin = await service.makeToken({ preset: 'admin', tenants: ['TX'] });
  const log = (await service.all('/audit?action=export.', admin.token)).filter(
    ({ actor }) => actor.token_id === own.id,
  );
  expect(new Set(log.map(({ action }) => action))).toEqual(
    new Set(['export.csv', 'export.link', 'export.create', 'export.download', 'export.remove']),
  );
  expect(new Set(log.flatMap(({ tenants }) => tenants))).toEqual(new Set(['TX']));
});

test('it counts its store in a job, and sees no count of more than that', async () => {
  const start = (body: object, token = own.token) =>
    service.call('POST', '/enrichment/records/count', { token, body: { tenant: 'TX', ...body } });
  const { json } = await start({ store: 'DFW' });
  expect(refusal(await start({}))).toEqual([403, 'whole_tenant_required', undefined]);
  expect(refusal(await start({ store: 'AUS' }))).toEqual([400, 'request_invalid', '/tenant']);
  const whole = (await start({}, service.adminToken)).json.id;
  const other = (await start({ store: 'AUS' }, service.adminToken)).json.id;
  const read = (id: string) => call('GET', `/enrichment/records/counts/${id}`);
  const isDone = async () => (await read(json.id)).json.state === 'completed';
  await vi.waitUntil(isDone, 60_000);
  expect((await read(json.id)).json).toMatchObject({ count: 4, total: 4 });
  for (const id of [whole, other]) {
    expect((await read(id)).status).toBe(404);
    const change = { state: 'cancelled' };
    expect((await call('PATCH', `/enrichment/records/counts/${id}`, change)).status).toBe(404);
  }
  const jobs = await call('GET', '/jobs?kind=count');
  expect(jobs.json.data.map((job: { id: string }) => job.id)).toEqual([json.id]);
});

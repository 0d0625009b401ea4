import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';

const service = useTestService({ SVC_AUDIT_READS: 'on' });
beforeAll(async () => {
  const records = ['a', 'b', 'c'].map((event_id) => ({
    tenant: 'TX',
    store: 's',
    event_id,
    occurred_at: '2026-02-01T00:00:00Z',
    enrichment: { person: { id: 'p-17' }, of: event_id },
  }));
  await service.call('POST', '/enrichment/records', { body: { records } });
});

/** What was noted since it was asked last. */
let seen = 0;
async function noted() {
  const { json } = await service.call('GET', '/audit?action=records.read&limit=100');
  const rows = json.data.toReversed().slice(seen);
  seen += rows.length;
  return rows.map((row: { tenant: string; after: object }) => [row.tenant, row.after]);
}
const list = '/enrichment/records?tenant=TX&limit=1';

test('what a person reads in the console is noted before it is answered, once for all pages of a slice', async () => {
  const { headers } = await service.signIn();
  const get = (path: string) => service.call('GET', path, { token: null, headers });
  const { json } = await get(list);
  await get(`${list}&cursor=${json.next_cursor}`);
  await Promise.all([get(list), get(`${list}&order=desc`)]);
  expect(await noted()).toEqual([['TX', { by: 'list', tenant: 'TX' }]]);
  const key = 'tenant=TX&store=s&occurred_at=2026-02-01T00:00:00Z&event_id=a';
  const one = await get(`/enrichment/records/one?${key}`);
  expect(one.status, one.text).toBe(200);
  const enrichment = { person: { id: 'p-17' }, of: 'a' };
  expect(one.json).toMatchObject({ event_id: 'a', enrichment });
  await get(`${list}&store=s`);
  const known = { tenant: 'TX', store: 's' };
  expect(await noted()).toEqual([
    ['TX', { by: 'record', ...known, occurred_at: '2026-02-01T00:00:00Z', event_id: true }],
    ['TX', { by: 'list', ...known }],
  ]);
});

test('of a condition on the enrichment the values are kept nowhere', async () => {
  const { headers } = await service.signIn();
  const where = encodeURIComponent('person.id = "p-17"');
  const found = await service.call('GET', `${list}&where=${where}`, { token: null, headers });
  expect(found.status, found.text).toBe(200);
  expect(await noted()).toEqual([['TX', { by: 'list', tenant: 'TX', where: 'person.id = "…"' }]]);
});

const where = 'person.id = "p-17"';
const of = String(new URLSearchParams({ tenant: 'TX', where }));
const since = '2000-01-01T00:00:00Z';
test.each([
  ['count', 'GET', `/enrichment/records/count?${of}`, {}],
  ['facts', 'GET', `/enrichment/facts?${of}`, {}],
  ['fields', 'GET', `/enrichment/fields?${of}`, {}],
  ['tail', 'GET', `/enrichment/records/tail?${of}&since=${since}&follow=false`, { since }],
  ['preview', 'POST', '/exports/preview', { format: 'csv' }],
  ['preview', 'POST', '/exports/ndjson/preview', { template: { id: '{{event_id}}' } }],
] as const)(
  'of what a person sees by %s (%s %s) the slice is noted',
  async (by, method, path, own) => {
    const { headers } = await service.signIn();
    const origin = { ...headers, origin: service.url };
    const body = method === 'POST' ? { body: { tenant: 'TX', where, ...own } } : {};
    const answer = await service.call(method, path, { token: null, headers: origin, ...body });
    expect(answer.status, answer.text).toBe(200);
    const kept = 'template' in own ? { template: true } : own;
    expect(await noted()).toEqual([
      ['TX', { by, tenant: 'TX', where: 'person.id = "…"', ...kept }],
    ]);
  },
);

test('tokens of pipelines are not noted, those that a person made are', async () => {
  const { id, token } = await service.makeToken({ preset: 'curator' });
  const read = () => service.call('GET', list, { token });
  await read();
  expect(await noted()).toEqual([]);
  await service.db.query(sql`
    insert into access_tokens (id, name, hash, scopes, issuer, subject)
    values ('usr_1', 'Ada', 'x', array['admin'], 'https://i', 's')`);
  await service.db.query(sql`update access_tokens set person_id = 'usr_1' where id = ${id}`);
  await read();
  expect(await noted()).toEqual([['TX', { by: 'list', tenant: 'TX' }]]);
});

test('who loads the table of Iceberg has read all that it names', async () => {
  const { id, token } = await service.makeToken({ preset: 'curator', tenants: ['TX'] });
  const load = (secret: string) =>
    service.call('GET', '/iceberg/v1/namespaces/svcctl/tables/records', { token: secret });
  await load(token);
  expect(await noted()).toEqual([]);
  await service.db.query(sql`update access_tokens set person_id = 'usr_1' where id = ${id}`);
  expect((await load(token)).status).toBe(200);
  await load(token);
  expect(await noted()).toEqual([['TX', { by: 'table', tenants: ['TX'] }]]);
});

test('what cannot be noted is not answered', async () => {
  const { headers } = await service.signIn();
  const path = `${list}&kind=other`;
  await service.db.query(
    sql`alter table audit_log add constraint broken check (action <> 'records.read') not valid`,
  );
  const refused = await service.call('GET', path, { token: null, headers });
  expect(refused.status).toBe(500);
  await service.db.query(sql`alter table audit_log drop constraint broken`);
  expect((await service.call('GET', path, { token: null, headers })).status).toBe(200);
  expect(await noted()).toEqual([['TX', { by: 'list', tenant: 'TX', kind: 'other' }]]);
});

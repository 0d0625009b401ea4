import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { planOf } from '../../../test/one-server.ts';
import { useWebhookApi } from '../testing/api.ts';
import { listIncidents } from './queries.ts';

const { service, freshTenant, makeEndpoint, report: reportOne } = useWebhookApi();
const report = async (more: object): Promise<string> => (await reportOne(more)).id;

type Listed = {
  id: string;
  tenant: string;
  delivery_counts?: Record<string, number>;
  group?: string | null;
  excerpt?: string | null;
};

async function pageOf(filters: Record<string, string>, token = service.adminToken) {
  const answer = await service.call(
    'GET',
    `/incidents?${new URLSearchParams(filters).toString()}`,
    { token },
  );
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { data: Listed[]; next_cursor: string | null };
}

/** The ids on all pages, in their order. */
async function idsOf(filters: Record<string, string>, token?: string): Promise<string[]> {
  const query = new URLSearchParams({ limit: '2', ...filters }).toString();
  return (await service.all(`/incidents?${query}`, token)).map(({ id }) => id);
}

const setReported = (id: string, at: string) =>
  service.db.query(sql`
    with incident as (update incidents set created_at = ${at}::timestamptz where id = ${id})
    update deliveries set created_at = ${at}::timestamptz where incident_id = ${id}`);

const abandon = (id: string, limit = 10) =>
  service.db.query(sql`
    update deliveries set status = 'abandoned', attempts = 1, next_attempt_at = null
    where id in (select id from deliveries where incident_id = ${id} order by id limit ${limit})`);

test.each([
  ['from=2026-03-01', '?to'],
  ['to=2026-03-01', '?from'],
  ['from=2026-03-02&to=2026-03-01', '?from'],
  ['from=today&to=2026-03-01', '?from'],
  ['deliveries=delivered', '?deliveries'],
  ['include=data', '?include'],
  ['failed=true', '?failed'],
])('refuses ?%s for its %s', async (query, path) => {
  const answer = await service.call('GET', `/incidents?${query}`);
  expect(answer.status).toBe(400);
  expect(answer.json.errors.map((fault: { path: string }) => fault.path)).toContain(path);
});

test('finds incidents by store, also together with a type', async () => {
  const tenant = freshTenant();
  await report({ tenant, store: 'AUS' });
  const resolved = await report({ tenant, type: 'incident.resolved', store: 'DFW' });
  expect(await idsOf({ tenant, store: 'DFW' })).toEqual([resolved]);
  expect(await idsOf({ tenant, store: 'DFW', type: 'incident.created' })).toEqual([]);
});

test('finds incidents by the days of their reports, both ends included', async () => {
  const tenant = freshTenant();
  const times = [
    '2026-02-28T23:59:59.999999Z',
    '2026-03-01T00:00:00Z',
    '2026-03-02T23:59:59.999999Z',
    '2026-03-03T00:00:00Z',
  ];
  const ids: string[] = [];
  for (const at of times) {
    const id = await report({ tenant });
    await setReported(id, at);
    ids.push(id);
  }
  const [, first, last] = ids;
  expect(await idsOf({ tenant, from: '2026-03-01', to: '2026-03-02' })).toEqual([last, first]);
  expect(await idsOf({ tenant, from: '2026-03-01', to: '2026-03-01' })).toEqual([first]);
});

test('finds those of which a delivery failed, each once, and only within reach', async () => {
  const [one, two, foreign] = [freshTenant(), freshTenant(), freshTenant()];
  for (const tenant of [one, one, two, foreign]) await makeEndpoint(tenant);
  const failed: string[] = [];
  for (const tenant of [one, two, one, two, foreign]) {
    const id = await report({ tenant });
    await report({ tenant });
    await abandon(id);
    failed.unshift(id);
  }
  const pending = await report({ tenant: one, type: 'incident.resolved' });
  await service.db.query(sql`
    update deliveries set status = 'pending', attempts = 1 where incident_id = ${pending}`);
  const { token } = await service.makeToken({ scopes: ['incidents:read'], tenants: [one, two] });
  const [, ...ofBoth] = failed;
  expect(await idsOf({ deliveries: 'failed' }, token)).toEqual([pending, ...ofBoth]);
  expect(await idsOf({ deliveries: 'failed' })).toEqual([pending, ...failed]);
  expect(await idsOf({ deliveries: 'failed', tenant: foreign }, token)).toEqual([]);
  const ofType = { deliveries: 'failed', type: 'incident.resolved' };
  expect(await idsOf(ofType, token)).toEqual([pending]);
  const [last] = ofBoth.slice(-1);
  await setReported(last ?? '', '2026-03-05T12:00:00Z');
  const days = { deliveries: 'failed', from: '2026-03-05', to: '2026-03-05' };
  expect(await idsOf(days, token)).toEqual([last]);
});

test.each([
  ['of all tenants', null, 'dead_letters_incident_idx'],
  ['of some tenants', ['tenant-1', 'tenant-2'], 'dead_letters_tenant_incident_idx'],
])('reads failed incidents %s along their index', async (_, tenants, index) => {
  const days = { from: '2026-03-01', to: '2026-03-05' };
  const source = { tenants, id: undefined, deliveryId: undefined, ...days, hasFailed: true };
  const scan = { after: ['2026-03-04T12:00:00Z', 'inc_x'] as const, limit: 101, scanLimit: 101 };
  const sought = { store: undefined, endpointId: undefined };
  const plan = await planOf(service.db, (db) => listIncidents(db, source, sought, scan));
  expect(plan).toContain(`Index Scan Backward using ${index} on deliveries`);
  expect(plan).toMatch(/Scan using dead_letters_replay_idx on deliveries/);
  expect(plan).toMatch(/Group\n.*Group Key: deliveries.created_at/);
});

test('counts the deliveries of each incident by status when asked to', async () => {
  const tenant = freshTenant();
  const alone = await report({ tenant });
  await makeEndpoint(tenant);
  await makeEndpoint(tenant);
  const id = await report({ tenant });
  await abandon(id, 1);
  const none = { queued: 0, pending: 0, abandoned: 0, delivered: 0, discarded: 0 };
  const { data } = await pageOf({ tenant, include: 'delivery_counts' });
  expect(data.map((row) => [row.id, row.delivery_counts])).toEqual([
    [id, { ...none, queued: 1, abandoned: 1 }],
    [alone, none],
  ]);
  expect((await pageOf({ tenant })).data[0]).not.toHaveProperty('delivery_counts');
});

test('shows beside the counts the group of each incident, and how its data begins', async () => {
  const tenant = freshTenant();
  const long = 'é'.repeat(500);
  await report({ tenant, data: { gate: 'B,4}', delay: 12 }, group: 'case-812' });
  await report({ tenant, type: 'a.b', data: { note: long } });
  await report({ tenant, data: [] });
  const erased = await report({ tenant, data: { name: 'secret' } });
  await service.call('POST', `/incidents/${erased}/erase`);
  const { data } = await pageOf({ tenant, include: 'delivery_counts' });
  expect(data.map(({ group, excerpt }) => [group, excerpt])).toEqual([
    [null, null],
    [null, '[]'],
    [null, `{"note":"${long}`.slice(0, 160)],
    ['case-812', '{"gate":"B,4}","delay":12}'],
  ]);
  expect((await pageOf({ tenant })).data[0]).not.toHaveProperty('excerpt');
});

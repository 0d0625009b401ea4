import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import type { Actor } from '../../kernel/actor.ts';
import { filterSteps } from '../subscription.ts';
import { useWebhookApi } from '../testing/api.ts';
import { IncidentFilters } from './filters.ts';
import { createReportIncident } from './report-incident.ts';

const { service, freshTenant, makeEndpoint, changeEndpoint: change } = useWebhookApi();

/** Reports an incident of which `data` is JSON text, and returns which endpoints get it and which filters held it back. */
async function report(tenant: string, data: string, more: object = {}) {
  const head = JSON.stringify({ tenant, type: 'incident.created', ...more });
  const answer = await service.call('POST', '/incidents', {
    body: `${head.slice(0, -1)},"data":${data}}`,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status, answer.text).toBe(202);
  const { json } = await service.call('GET', `/incidents/${answer.json.id}`);
  const gets: string[] = answer.json.deliveries.map(
    ({ endpoint_id }: { endpoint_id: string }) => endpoint_id,
  );
  return { id: answer.json.id as string, gets, filteredOut: json.filtered_out as string[] };
}

test('an endpoint gets what its filter lets through, and the incident tells of the others', async () => {
  const tenant = freshTenant();
  const [high, night, all] = [
    await makeEndpoint(tenant, { where: 'score >= 0.9' }),
    await makeEndpoint(tenant, { where: 'data.kind in ("night", "dawn") and not exists(muted)' }),
    await makeEndpoint(tenant),
  ];
  expect(await report(tenant, '{"score":0.90,"kind":"day"}')).toMatchObject({
    gets: [high, all].sort(),
    filteredOut: [night],
  });
  expect(await report(tenant, '{"score":0.8,"kind":"night"}')).toMatchObject({
    gets: [night, all].sort(),
    filteredOut: [high],
  });
  expect(await report(tenant, '{"muted":null,"kind":"night"}')).toMatchObject({
    gets: [all],
    filteredOut: [high, night].sort(),
  });
});

test('numbers beyond 2^53 are compared as they are spelled', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'n > 9007199254740992' });
  expect((await report(tenant, '{"n":9007199254740993}')).gets).toEqual([id]);
  expect((await report(tenant, '{"n":9007199254740992}')).gets).toEqual([]);
});

test('patterns stand for the types that begin so', async () => {
  const tenant = freshTenant();
  const incidents = await makeEndpoint(tenant, { event_types: ['incident.*'] });
  const deep = await makeEndpoint(tenant, { event_types: ['incident.v-2.*', 'x.y'] });
  const gets = async (type: string) => (await report(tenant, '{}', { type })).gets;
  expect(await gets('incident.created')).toEqual([incidents]);
  expect(await gets('incident.v-2.re_opened')).toEqual([incidents, deep].sort());
  expect(await gets('incident.v-2')).toEqual([incidents]);
  expect(await gets('incidents.created')).toEqual([]);
  expect(await gets('x.y')).toEqual([deep]);
  const shown = await service.call('GET', `/webhook/endpoints/${incidents}`);
  expect(shown.json.event_types).toEqual(['incident.*']);
});

test('stores narrow what an endpoint gets, and are no filter that an incident tells of', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { stores: ['DFW', 'IAH'] });
  expect((await report(tenant, '{}', { store: 'IAH' })).gets).toEqual([id]);
  expect(await report(tenant, '{}', { store: 'AUS' })).toMatchObject({ gets: [], filteredOut: [] });
  expect((await report(tenant, '{}')).gets).toEqual([]);
  await change(id, { stores: null });
  expect((await report(tenant, '{}')).gets).toEqual([id]);
});

test('a filter holds for the next report in every process, and leaves alone what waits', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'a = 1' });
  const reported = await report(tenant, '{"a":1}');
  expect(reported.gets).toEqual([id]);
  const changed = await change(id, { where: 'a = 2' });
  expect(changed.warnings).toContainEqual(expect.stringMatching(/^1 delivery waiting already/));
  expect(await report(tenant, '{"a":1}')).toMatchObject({ gets: [], filteredOut: [id] });
  expect((await report(tenant, '{"a":2}')).gets).toEqual([id]);
  const other = await makeEndpoint(tenant, { where: 'a = 1 and type = "incident.created"' });
  expect(await report(tenant, '{"a":1}')).toMatchObject({ gets: [other], filteredOut: [id] });
  await change(id, { where: null });
  expect((await report(tenant, '{"a":1}')).gets).toEqual([id, other].sort());
  const waiting = await service.call('GET', `/incidents/${reported.id}`);
  expect(waiting.json.deliveries).toMatchObject([{ endpoint_id: id, status: 'queued' }]);
});

test('lines that come as a filter is saved reach who orders them in their order', async () => {
  const tenant = freshTenant();
  const ordered = await makeEndpoint(tenant, { ordered: 'store' });
  const filtered = await makeEndpoint(tenant, {
    where: 'a = 1',
    event_types: ['incident.created'],
  });
  await report(tenant, '{"a":1}');
  await change(filtered, { where: 'a = 2' });
  const line = (kind: string) => ({
    tenant,
    store: 'DFW',
    type: `incident.${kind}`,
    data: { a: 1 },
  });
  const answer = await service.call('POST', '/incidents', {
    body: ['created', 'resolved'].map((kind) => JSON.stringify(line(kind))).join('\n'),
    headers: { 'content-type': 'application/x-ndjson' },
  });
  expect(answer.json, answer.text).toMatchObject({ accepted: 2 });
  const rows = await service.db.query<{ event_type: string; order_state: string }>(sql`
    select event_type, order_state from deliveries where endpoint_id = ${ordered} and order_key = 'DFW' order by sequence`);
  expect(rows.map(({ event_type }) => event_type)).toEqual([
    'incident.created',
    'incident.resolved',
  ]);
});

test('who begins to want a type is asked, though the filter was known', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'a = 1', event_types: ['x.y'] });
  expect(await report(tenant, '{"a":2}', { type: 'x.y' })).toMatchObject({ filteredOut: [id] });
  expect(await report(tenant, '{"a":2}')).toMatchObject({ gets: [], filteredOut: [] });
  await change(id, { event_types: ['*'] });
  expect(await report(tenant, '{"a":2}')).toMatchObject({ gets: [], filteredOut: [id] });
  expect((await report(tenant, '{"a":1}')).gets).toEqual([id]);
});

test('reports that come together are each filtered, and a key answers as it did', async () => {
  const tenant = freshTenant();
  const even = await makeEndpoint(tenant, { where: 'even = true' });
  const all = await makeEndpoint(tenant);
  const reports = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      report(tenant, `{"even":${n % 2 === 0}}`, { idempotency_key: `k${n % 40}` }),
    ),
  );
  for (const [n, one] of reports.entries()) {
    expect(one.gets).toEqual(n % 2 === 0 ? [even, all].sort() : [all]);
  }
  expect(new Set(reports.map((one) => one.id)).size).toBe(40);
});

test('a ping passes every filter', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'a = 1', stores: ['DFW'] });
  const ping = await service.call('POST', `/webhook/endpoints/${id}/ping`, { body: undefined });
  expect(ping.status, ping.text).toBe(202);
});

test('an incident that costs a filter too much is delivered, and the log says so', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'any(tags) = "x" or any(tags) = "y"' });
  const told: unknown[] = [];
  const { one: reportIncident } = createReportIncident(service.db, {
    clock: Date.now,
    maxAttempts: 8,
    maxPayloadBytes: 300_000,
    wakeUp: { wake() {}, headStart: () => null },
    log: { warn: (more: unknown) => void told.push(more) },
  });
  const tags = Array(60_000).fill('a');
  const answer = await reportIncident({ tenants: null } as Actor, {
    request: { tenant, type: 'incident.created', data: { tags } },
    dataSource: undefined,
    requestId: 'req_1',
    traceParent: null,
  });
  expect(answer.deliveries.map(({ endpoint_id }) => endpoint_id)).toEqual([id]);
  expect(told).toEqual([{ incident: answer.id, tenant, filters: 1 }]);
});

test('a filter that this release cannot read lets everything through', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'a = 1' });
  await service.db.query(sql`update webhook_endpoints set filter = 'a ~ 1', filter_key = md5('a ~ 1')::uuid
    where id = ${id}`);
  expect((await report(tenant, '{}')).gets).toEqual([id]);
});

test('what a process of the previous release changes of types counts', async () => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { event_types: ['incident.*'] });
  const stored = await service.db.query(
    sql`select event_types from webhook_endpoints where id = ${id}`,
  );
  // That release delivers too much rather than too little.
  expect(stored).toEqual([{ event_types: ['*'] }]);
  await service.db.query(sql`update webhook_endpoints set event_types = '{x.y}' where id = ${id}`);
  expect((await report(tenant, '{}')).gets).toEqual([]);
  expect((await report(tenant, '{}', { type: 'x.y' })).gets).toEqual([id]);
});

test('the filters of many endpoints share one budget for a large incident, and those beyond it let it pass', async () => {
  const tenant = freshTenant();
  const wheres = Array.from({ length: 80 }, (_, n) => `any(tags) = "x${n}"`);
  await Promise.all(wheres.map((where) => makeEndpoint(tenant, { where })));
  const told: { filters: number }[] = [];
  const log = { warn: (more: unknown) => void told.push(more as { filters: number }) };
  const filters = new IncidentFilters(service.db, { clock: () => 0, log });
  await filters.reload(tenant);
  const data = JSON.stringify({ tags: Array(15_000).fill('a'.repeat(14)) });
  expect(data.length).toBeGreaterThan(250_000);
  const incident = { type: 'x.y', store: null, occurredAt: '', data };
  const verdicts = [...((await filters.judge({ id: 'inc', tenant }, incident))?.verdicts ?? [])];
  // Each takes 18,750 steps, and the first one also has to cut the payload, for which its own budget is too small.
  const refused = Math.floor((filterSteps.all - filterSteps.each) / 18_750);
  expect(verdicts).toEqual([1, ...Array(refused).fill(0), ...Array(79 - refused).fill(1)]);
  expect(told).toEqual([expect.objectContaining({ filters: 80 - refused })]);
});

test('filters are kept compiled until they are a minute old', async () => {
  const tenant = freshTenant();
  await makeEndpoint(tenant, { where: 'a = 1' });
  let now = 0;
  let statements = 0;
  const db = {
    query: (...args: Parameters<typeof service.db.query>) => {
      statements += 1;
      return service.db.query(...args);
    },
  } as typeof service.db;
  const filters = new IncidentFilters(db, { clock: () => now, log: { warn() {} } });
  const incident = { type: 'x.y', store: null, occurredAt: '', data: '{"a":1}' };
  const judge = () => filters.judge({ id: 'inc', tenant }, incident);
  expect(await judge()).toBeNull();
  await filters.reload(tenant);
  expect((await judge())?.verdicts).toEqual(Buffer.of(1));
  expect(statements).toBe(1);
  now = 60_000;
  expect((await judge())?.verdicts).toEqual(Buffer.of(1));
  expect(statements).toBe(2);
});

test.each([
  [{ where: 'a >' }, '/where', 'where_invalid'],
  [{ where: `a in (${'1,'.repeat(200)}1)` }, '/where', 'where_invalid'],
  [{ where: 'event_id = 5 and store > 1' }, '/where', 'where_invalid'],
  [{ where: '' }, '/where', 'value_invalid'],
  [{ event_types: ['incident*'] }, '/event_types/0', 'value_invalid'],
  [{ event_types: ['*.created'] }, '/event_types/0', 'value_invalid'],
  [{ stores: [] }, '/stores', 'value_invalid'],
  [{ stores: ['a/b'] }, '/stores/0', 'value_invalid'],
])('refuses %j, and changes nothing', async (body, path, code) => {
  const tenant = freshTenant();
  const id = await makeEndpoint(tenant, { where: 'a = 1' });
  for (const answer of [
    await service.call('POST', '/webhook/endpoints', {
      body: { tenant, url: 'http://127.0.0.1:9/hook', ...body },
    }),
    await service.call('PATCH', `/webhook/endpoints/${id}`, { body }),
  ]) {
    expect(answer.status).toBe(400);
    expect(answer.json.errors).toContainEqual(expect.objectContaining({ path, code }));
  }
  const kept = await service.call('GET', `/webhook/endpoints?tenant=${encodeURIComponent(tenant)}`);
  expect(kept.json.data).toMatchObject([{ where: 'a = 1', stores: null, event_types: ['*'] }]);
});

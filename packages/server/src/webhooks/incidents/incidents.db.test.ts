import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import type { Actor } from '../../kernel/actor.ts';
import { AppError } from '../../kernel/errors.ts';
import type { ClaimedRow } from '../claim.ts';
import type { IncidentRow } from '../contract.ts';
import { laneOf, laneOfDelivery } from '../lanes.ts';
import { useWebhookApi } from '../testing/api.ts';
import { createReportIncident } from './report-incident.ts';

const limits = { clock: Date.now, maxAttempts: 8, maxPayloadBytes: 1024, log: { warn() {} } };
const origin = { dataSource: undefined, requestId: 'req_1', traceParent: null };
const { service, freshTenant, makeEndpoint, report } = useWebhookApi();
const call = (body: unknown, token = service.adminToken) =>
  service.call('POST', '/incidents', { body, token });

async function countIncidents(tenant: string): Promise<number> {
  const rows = await service.db.query<{ count: number }>(
    sql`select count(*) as count from incidents where tenant = ${tenant}`,
  );
  return rows[0]?.count ?? 0;
}

test.each<[object, string, string]>([
  [{ tenant: undefined }, '/tenant', 'field_required'],
  [{ tenant: 'a/b' }, '/tenant', 'value_invalid'],
  [{ tenant: 5 }, '/tenant', 'type_invalid'],
  [{ type: 'incident' }, '/type', 'value_invalid'],
  [{ type: 'Incident.Created' }, '/type', 'value_invalid'],
  [{ type: '*' }, '/type', 'value_invalid'],
  [{ data: undefined }, '/data', 'field_required'],
  [{ occurred_at: 'today' }, '/occurred_at', 'value_invalid'],
  [{ occurred_at: '2026-03-05T14:07:09.1234567Z' }, '/occurred_at', 'value_invalid'],
  [{ occurred_at: '2299-03-05T14:07:09Z' }, '/occurred_at', 'value_invalid'],
  [{ idempotency_key: '' }, '/idempotency_key', 'value_invalid'],
  [{ idempotency_key: 'a b' }, '/idempotency_key', 'value_invalid'],
  [{ idempotency_key: 'ä' }, '/idempotency_key', 'value_invalid'],
  [{ severity: 1 }, '/severity', 'field_unknown'],
])('refuses %j for its %s: %s', async (change, path, code) => {
  const answer = await call({ tenant: 'refused', type: 'incident.created', data: {}, ...change });
  expect(answer.status).toBe(400);
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path, code }));
  expect(await countIncidents('refused')).toBe(0);
});

test('sends the data as it was spelled: no digit of a number is lost', async () => {
  const tenant = freshTenant();
  await makeEndpoint(tenant);
  const data = '{ "id": 12345678901234567890, "score": 0.10, "big": 1e400 }';
  const body = `{"data": ${data}, "tenant": ${JSON.stringify(tenant)}, "type": "incident.created"}`;
  const answer = await service.call('POST', '/incidents', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status, answer.text).toBe(202);
  for (const path of [
    `/incidents/${answer.json.id}`,
    `/webhook/dlq/${answer.json.deliveries[0].id}`,
  ]) {
    const { json } = await service.call('GET', path);
    expect(json.body, path).toContain(
      '"data":{"id":12345678901234567890,"score":0.10,"big":1e400}',
    );
  }
});

test('refuses data nested 10,000 levels deep', async () => {
  const data = '['.repeat(10_000) + ']'.repeat(10_000);
  const answer = await service.call('POST', '/incidents', {
    body: `{"tenant":"deep","type":"a.b","data":${data}}`,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.json).toMatchObject({ status: 400, errors: [{ path: '/data' }] });
});

test('answers 413 to a payload of more than 256 KiB', async () => {
  const answer = await call({ tenant: 'large', type: 'a.b', data: 'x'.repeat(256 * 1024) });
  expect(answer.json).toMatchObject({ status: 413, code: 'body_too_large' });
  expect(await countIncidents('large')).toBe(0);
});

test('makes one queued delivery for each endpoint of the tenant that wants the type, disabled or not', async () => {
  const tenant = freshTenant();
  const all = await makeEndpoint(tenant, { max_attempts: 3 });
  const created = await makeEndpoint(tenant, {
    event_types: ['incident.resolved', 'incident.created'],
    url: 'http://127.0.0.1:9/other',
  });
  await makeEndpoint(tenant, { event_types: ['incident.resolved'] });
  const disabled = await makeEndpoint(tenant, { enabled: false, max_attempts: 4 });
  await makeEndpoint(freshTenant());
  const gone = await makeEndpoint(tenant);
  await service.call('DELETE', `/webhook/endpoints/${gone}`);

  const accepted = await report({ tenant });
  expect(accepted.id).toMatch(/^inc_\w{16}$/);
  expect(accepted.deliveries.map((row) => row.endpoint_id)).toEqual(
    [all, created, disabled].sort(),
  );
  expect(new Set(accepted.deliveries.map((row) => row.idempotency_key)).size).toBe(3);
  for (const delivery of accepted.deliveries) {
    expect(delivery.status).toBe('queued');
    expect(delivery.idempotency_key).toMatch(/^msg_[0-9A-Za-z]{16}$/);
    expect(laneOfDelivery(delivery.id)).toBe(laneOf(delivery.endpoint_id));
  }
  const rows = await service.db.query(sql`
    select endpoint_id, lane, status, target, max_attempts, attempts, tenant, event_type,
      next_attempt_at <= now() as is_due
    from deliveries where incident_id = ${accepted.id} order by max_attempts`);
  const same = {
    status: 'queued',
    attempts: 0,
    tenant,
    event_type: 'incident.created',
    is_due: true,
  };
  const row = (id: string, path: string, max_attempts: number) => {
    const target = `http://127.0.0.1:9/${path}`;
    return { ...same, endpoint_id: id, lane: laneOf(id), target, max_attempts };
  };
  const expected = [row(all, 'hook', 3), row(disabled, 'hook', 4), row(created, 'other', 8)];
  expect(rows).toEqual(expected);
});

test('reports that come at the same time each make their own deliveries, and are told of these', async () => {
  const own = await Promise.all(
    Array.from({ length: 4 }, async (_, number) => {
      const tenant = freshTenant();
      const resolved = await makeEndpoint(tenant, { event_types: ['incident.resolved'] });
      const all = number === 0 ? [] : [await makeEndpoint(tenant)];
      return { tenant, 'incident.created': all, 'incident.resolved': [resolved, ...all].sort() };
    }),
  );
  const reports = Array.from({ length: 40 }, async (_, number) => {
    const of = own[number % 4];
    const type = number % 8 < 4 ? 'incident.created' : 'incident.resolved';
    const { id, deliveries } = await report({ tenant: of?.tenant, type, data: { number } });
    expect(deliveries.map((delivery) => delivery.endpoint_id)).toEqual(of?.[type]);
    const { json } = await service.call('GET', `/incidents/${id}`);
    expect(json).toMatchObject({ tenant: of?.tenant, type, data: { number }, deliveries });
    return deliveries.map((delivery) => delivery.id);
  });
  const ids = (await Promise.all(reports)).flat();
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(50);
});

test('what is reported while others are being stored is stored by one statement', async () => {
  const tenant = freshTenant();
  await makeEndpoint(tenant);
  let statements = 0;
  const { one: reportIncident } = createReportIncident(
    {
      query(statement, options) {
        statements += 1;
        return service.db.query(statement, options);
      },
    },
    { ...limits, wakeUp: { wake() {}, headStart: () => null } },
  );
  const actor = { tenants: null } as Actor;
  const request = { tenant, type: 'incident.created', data: {} };
  const reports = Array.from({ length: 80 }, () => reportIncident(actor, { request, ...origin }));
  const accepted = await Promise.all(reports);
  expect(new Set(accepted.map(({ id }) => id)).size).toBe(80);
  expect(accepted.every(({ deliveries }) => deliveries.length === 1)).toBe(true);
  expect(await countIncidents(tenant)).toBe(80);
  expect(statements).toBeLessThan(10);
});

/** Reports forty incidents at once, with a head start of two at the endpoint for this keeper of its lane. */
async function reportWithHeadStart(tenant: string, endpoint: string, keeper: number) {
  const begun: (readonly ClaimedRow[])[] = [];
  const woken: string[] = [];
  const { one: reportIncident } = createReportIncident(service.db, {
    ...limits,
    wakeUp: {
      wake: (ids) => void woken.push(...ids),
      headStart: () => ({
        rooms: [{ lane: laneOf(endpoint), endpointId: endpoint, count: 2, isFresh: true }],
        lease: { id: 77, seconds: 60, keeper },
        begin: (rows) => void begun.push(rows),
      }),
    },
  });
  const request = { tenant, type: 'incident.created', data: { a: 1 } };
  const actor = { tenants: null } as Actor;
  const reports = Array.from({ length: 40 }, () => reportIncident(actor, { request, ...origin }));
  await Promise.all(reports);
  return { begun, woken };
}

test('new deliveries are claimed as they are stored, as many as there is room for', async () => {
  const tenant = freshTenant();
  const endpoint = await makeEndpoint(tenant, { max_attempts: 3 });
  await service.db.query(sql`update lanes set keeper = 5 where lane = ${laneOf(endpoint)}`);
  const { begun, woken } = await reportWithHeadStart(tenant, endpoint, 5);
  const rows = await service.db.query(sql`
    select d.lane, d.id, incident_id, request_id, trace_parent, 0 as waited_ms, true as is_fresh, null as throttled_seconds, 0 as age_seconds, d.endpoint_id, d.tenant, idempotency_key, replay_of, d.sequence, d.order_key, status, failure_class, attempts, d.max_attempts,
      schedule_from, body, (extract(epoch from e.updated_at) * 1000000)::bigint as config_version
    from deliveries d join incidents i on i.id = incident_id join webhook_endpoints e on e.id = endpoint_id
    where lease = 77 and leased_until > now() + interval '50 seconds' order by d.id`);
  expect(begun.flat().sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(rows);
  // Each statement may claim two, and those that it does not claim wake the endpoint.
  for (const { length } of begun) expect(length).toBeLessThanOrEqual(2);
  expect(rows.length + woken.length).toBe(40);
  expect(woken.length).toBeGreaterThan(0);
});

test('no new delivery is claimed for a drainer that has lost the lane, nor at a disabled endpoint', async () => {
  const tenant = freshTenant();
  const endpoint = await makeEndpoint(tenant);
  await service.db.query(sql`update lanes set keeper = 6 where lane = ${laneOf(endpoint)}`);
  const lost = await reportWithHeadStart(tenant, endpoint, 5);
  expect(lost.begun.flat()).toEqual([]);
  expect(lost.woken).toHaveLength(40);
  await service.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { enabled: false } });
  const disabled = await reportWithHeadStart(tenant, endpoint, 6);
  expect(disabled).toEqual({ begun: disabled.begun.map(() => []), woken: [] });
});

test('the room of a head start is given back when nothing could be stored', async () => {
  const begun: unknown[] = [];
  const { one: reportIncident } = createReportIncident(
    { query: () => Promise.reject(new AppError('database_unavailable')) },
    {
      ...limits,
      wakeUp: {
        wake() {},
        headStart: () => ({
          rooms: [],
          lease: { id: 1, seconds: 60, keeper: 1 },
          begin: (rows) => void begun.push(rows),
        }),
      },
    },
  );
  const request = { tenant: freshTenant(), type: 'incident.created', data: {} };
  const reported = reportIncident({ tenants: null } as Actor, { request, ...origin });
  await expect(reported).rejects.toMatchObject({ code: 'database_unavailable' });
  expect(begun).toEqual([[]]);
});

test('a tenant without endpoints is answered 202 without deliveries', async () => {
  expect((await report({ tenant: freshTenant() })).deliveries).toEqual([]);
});

test('wakes the drainers with the endpoints that have something due', async () => {
  const tenant = freshTenant();
  const endpoint = await makeEndpoint(tenant);
  const client = await service.db.pool.connect();
  try {
    await client.query('listen svcctl_due');
    const woken = new Promise<string | undefined>((resolve) => {
      client.on('notification', ({ payload }) => {
        if (payload?.includes(endpoint)) resolve(payload);
      });
    });
    await report({ tenant });
    expect(await woken).toContain(endpoint);
  } finally {
    client.release(true);
  }
});

test('the body is type, timestamp in its canonical form, and data', async () => {
  const tenant = freshTenant();
  const data = { b: [1, 2.5, null], a: { text: 'ä\u2028' } };
  const { id } = await report({ tenant, occurred_at: '2026-03-05T15:07:09.5+01:00', data });
  const [row] = await service.db.query<{ body: string }>(
    sql`select body from incidents where id = ${id}`,
  );
  const timestamp = '2026-03-05T14:07:09.500000Z';
  expect(row?.body).toBe(JSON.stringify({ type: 'incident.created', timestamp, data }));
  const shown = (await service.call('GET', `/incidents/${id}`)).json;
  expect(shown).toMatchObject({ id, tenant, store: null, occurred_at: timestamp, data });
});

test.each([
  ['"\\ud800"', 'half of a surrogate pair'],
  ['{"\\udc00":1}', 'half of a surrogate pair'],
  ['["a\\u0000"]', 'U+0000'],
  ['{"a":{"b":1,"b":2}}', 'only once'],
  ['{"a":1,"\\u0061":2}', 'only once'],
])('data that readers take in different ways is refused: %s', async (data, message) => {
  const before = await countIncidents('odd');
  const body = `{"tenant":"odd","type":"a.b","data":${data}}`;
  const headers = { 'content-type': 'application/json' };
  const { json } = await service.call('POST', '/incidents', { body, headers });
  expect(json).toMatchObject({ status: 400, code: 'request_invalid', errors: [{ path: '/data' }] });
  expect(json.detail).toContain(message);
  expect(await countIncidents('odd')).toBe(before);
});

test('an unknown and a malformed incident answer 404', async () => {
  const { id } = await report({ tenant: freshTenant() });
  for (const path of [`inc_${'0'.repeat(16)}`, 'nonsense', 'inc_%00', `${id}%27`]) {
    const { json } = await service.call('GET', `/incidents/${path}`);
    expect(json).toMatchObject({ status: 404, code: 'incident_not_found' });
  }
});

test('shows an incident with its deliveries as they stand now', async () => {
  const tenant = freshTenant();
  await makeEndpoint(tenant);
  const { id, deliveries } = await report({ tenant, store: 'S', data: { n: 1 } });
  await service.db.query(sql`
    update deliveries set status = 'delivered', next_attempt_at = null where incident_id = ${id}`);
  expect((await service.call('GET', `/incidents/${id}`)).json).toEqual({
    id,
    tenant,
    store: 'S',
    type: 'incident.created',
    occurred_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
    created_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
    data: { n: 1 },
    body: expect.stringMatching(/^\{"type":"incident.created",.*"data":\{"n":1\}\}$/),
    size_bytes: 84,
    erased_at: null,
    request_id: expect.stringMatching(/^req_/),
    deliveries: [{ ...deliveries[0], status: 'delivered' }],
    filtered_out: [],
    held_back: [],
  });
});

test('lists incidents newest first, each once, also of equal times, to the tenants in reach', async () => {
  const [one, two, foreign] = [freshTenant(), freshTenant(), freshTenant()];
  const ids: string[] = [];
  for (let n = 0; n < 7; n++) ids.push((await report({ tenant: n % 2 ? one : two })).id);
  await report({ tenant: foreign });
  await service.db.query(sql`
    update incidents set created_at = '2026-01-01' where id = any(${ids.slice(2, 5)}::text[])`);
  const walk = (query: string, token: string): Promise<IncidentRow[]> =>
    service.all(`/incidents?limit=2${query}`, token);
  const { token } = await service.makeToken({ scopes: ['incidents:read'], tenants: [one, two] });
  const seen = await walk('', token);
  expect(seen.map((row) => row.id).sort()).toEqual([...ids].sort());
  const order = seen.map((row) => [row.created_at, row.id].join());
  expect(order).toEqual([...order].sort().reverse());
  expect(await walk(`&tenant=${encodeURIComponent(foreign)}`, token)).toEqual([]);
  expect(await walk(`&tenant=${encodeURIComponent(one)}`, service.adminToken)).toHaveLength(3);
  expect((await walk('', service.adminToken)).map((row) => row.tenant)).toContain(foreign);
  const first = await service.call('GET', '/incidents?limit=2');
  const other = await service.call('GET', `/incidents?tenant=x&cursor=${first.json.next_cursor}`);
  expect(other.json.code).toBe('cursor_invalid');
});

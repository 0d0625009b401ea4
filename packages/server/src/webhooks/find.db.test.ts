import sql from 'sql-template-tag';
import { beforeAll, expect, test, vi } from 'vitest';
import { answer, useReceiver } from '../../test/receiver.ts';
import { useWorld } from './drainer/testing/world.ts';

const receiver = useReceiver();
const world = useWorld();

type Found = {
  data: { id: string; incident_id?: string }[];
  next_cursor: string | null;
  total: number | null;
  searched_to: string | null;
};

async function find(path: string, filters: Record<string, string>, token = world.adminToken) {
  const query = new URLSearchParams(filters).toString();
  const answered = await world.call('GET', `${path}?${query}`, { token });
  expect(answered.status, answered.text).toBe(200);
  return answered.json as Found;
}

const things = { ep: '', other: '', created: '', resolved: '', late: '', key: 'order 7/x' };
const deliveries = new Map<string, string>();

async function report(tenant: string, more: object): Promise<string> {
  const body = { tenant, type: 'incident.created', data: {}, ...more };
  const answered = await world.call('POST', '/incidents', { body });
  expect(answered.status, answered.text).toBe(202);
  const { id, deliveries: made } = answered.json;
  deliveries.set(id, made[0].id);
  return id;
}

async function haveEnded(): Promise<boolean> {
  const open = await world.db.query(sql`select from deliveries where next_attempt_at is not null`);
  return open.length === 0;
}

beforeAll(async () => {
  receiver.behave(({ path, body }) => {
    if (path === '/other') return answer(204);
    return body.includes('gate 14')
      ? answer(503, { body: 'Straße GESPERRT bis \\12' })
      : answer(404, { body: 'nobody' });
  });
  const options = { max_attempts: 1, tenant: 'F' };
  things.ep = (await world.addEndpoint(receiver.url('/in'), options)).id;
  things.other = (await world.addEndpoint(receiver.url('/other'), { tenant: 'G' })).id;
  things.created = await report('F', { data: { place: 'Gate 14' } });
  things.resolved = await report('F', {
    type: 'incident.resolved',
    data: { place: 'gate 14, B' },
    idempotency_key: 'order-7',
  });
  things.late = await report('F', { type: 'incidental.noise', data: { place: 'Über hall Νίκος' } });
  await report('G', { data: { place: 'gate 14' } });
  await vi.waitUntil(haveEnded, { timeout: 60_000, interval: 20 });
  await world.db.query(
    sql`update incidents set created_at = '2026-03-05 23:59:59Z' where id = ${things.late}`,
  );
  await world.db.query(sql`
    update deliveries set created_at = '2026-03-05 23:59:59Z' where incident_id = ${things.late}`);
});

/** By what a search finds, the names of the incidents that it is to find. */
const searches: [Record<string, string>, (keyof typeof things)[]][] = [
  [{ type: 'incident.created' }, ['created']],
  [{ type: 'incident.*' }, ['resolved', 'created']],
  [{ type: 'incident.' }, ['resolved', 'created']],
  [{ type: '*' }, ['resolved', 'created', 'late']],
  [{ type: 'incident' }, []],
  [{ last_status: '503' }, ['resolved']],
  [{ last_status: '4xx' }, ['created', 'late']],
  [{ last_status: '2xx' }, []],
  [{ failure_class: 'status', type: 'incidental.noise' }, ['late']],
  [{ failure_class: 'dns' }, []],
  [{ from: '2026-03-05', to: '2026-03-05' }, ['late']],
  [{ from: '2026-03-06', to: '2999-12-31' }, ['resolved', 'created']],
  [{ from: '2026-03-05T23:59:59Z', to: '2026-03-05T23:59:59Z' }, ['late']],
  [{ from: '2026-03-06T00:59:59+01:00', to: '2026-03-05' }, ['late']],
  [{ from: '2026-03-05', to: '2026-03-05T23:59:58.999999Z' }, []],
  [{ from: '2026-03-05T23:59:59.000001Z', to: '2026-03-05' }, []],
  [{ text: 'GATE 14' }, ['resolved', 'created']],
  [{ text: 'Straße gesperrt' }, ['resolved']],
  // The tests' server folds I as Turkish does, and its ı is no letter of what is stored.
  [{ text: 'GESPERRT BIS \\12' }, ['resolved']],
  [{ text: 'INCIDENTAL' }, ['late']],
  [{ text: 'ÜBER HALL ΝΊΚΟ' }, ['late']],
  [{ text: 'über hall Νίκος' }, ['late']],
  [{ text: 'nobody' }, ['created', 'late']],
  [{ text: 'place":"über' }, ['late']],
  [{ text: '%' }, []],
];

test.each(searches)('deliveries and incidents are found by %j', async (filters, names) => {
  const ids = names.map((name) => things[name]);
  const found = await find('/webhook/deliveries', { tenant: 'F', ...filters });
  expect(found.data.map((row) => row.incident_id)).toEqual(ids);
  expect(found).toMatchObject({ total: ids.length, searched_to: null, next_cursor: null });
  const incidents = await find('/incidents', { tenant: 'F', ...filters });
  expect(incidents.data.map(({ id }) => id)).toEqual(ids);
  expect(incidents).toMatchObject({ total: ids.length, searched_to: null });
});

test('an id of any kind finds what it names', async () => {
  const delivery = deliveries.get(things.resolved) ?? '';
  const shown = (await world.call('GET', `/webhook/dlq/${delivery}`)).json;
  const ids = [delivery, things.resolved, shown.idempotency_key, shown.request_id, 'order-7'];
  for (const id of ids) {
    const found = await find('/webhook/deliveries', { id });
    expect(
      found.data.map((row) => row.id),
      id,
    ).toEqual([delivery]);
    const incidents = await find('/incidents', { id });
    expect(
      incidents.data.map((row) => row.id),
      id,
    ).toEqual([things.resolved]);
  }
  expect((await find('/webhook/deliveries', { id: things.ep })).data).toHaveLength(3);
  expect((await find('/incidents', { id: things.ep })).data).toHaveLength(3);
  for (const path of ['/webhook/deliveries', '/incidents']) {
    const both = { id: things.ep, endpoint_id: things.other };
    expect((await find(path, both)).data, path).toEqual([]);
    expect((await find(path, { id: 'nothing' })).data, path).toEqual([]);
  }
});

test('one delivery has to have all that is asked of deliveries', async () => {
  await world.addEndpoint(receiver.url('/other'), {
    tenant: 'F',
    event_types: ['incident.paired'],
  });
  const ids = { tenant: 'F', delivery_status: 'abandoned' };
  expect((await find('/incidents', ids)).data).toHaveLength(3);
  expect((await find('/incidents', { ...ids, endpoint_id: things.ep })).data).toHaveLength(3);
  expect((await find('/incidents', { ...ids, endpoint_id: things.other })).data).toEqual([]);
  expect((await find('/incidents', { ...ids, last_status: '204' })).data).toEqual([]);
});

test('tells the number of dead letters where only counted filters are set', async () => {
  const filters = { tenant: 'F', limit: '1', status: 'abandoned' };
  expect((await find('/webhook/deliveries', filters)).total).toBe(3);
  const counted = { ...filters, endpoint_id: things.ep, failure_class: 'status' };
  expect((await find('/webhook/deliveries', counted)).total).toBe(3);
  expect((await find('/webhook/deliveries', { ...filters, last_status: '4xx' })).total).toBeNull();
  expect((await find('/webhook/deliveries', { tenant: 'F', limit: '1' })).total).toBeNull();
});

test('nobody searches answers who may not read them, nor another tenant', async () => {
  const reader = await world.makeToken({ name: 'r', scopes: ['incidents:read'], tenants: ['F'] });
  const of = (filters: Record<string, string>) => find('/incidents', filters, reader.token);
  expect((await of({ text: 'gate 14' })).data).toHaveLength(2);
  expect((await of({ text: 'nobody' })).data).toEqual([]);
  expect((await of({ id: things.other })).data).toEqual([]);
  const { token } = await world.makeToken({ name: 'g', scopes: ['admin'], tenants: ['G'] });
  const foreign = deliveries.get(things.created) ?? '';
  for (const id of [foreign, things.created, things.ep, 'order-7']) {
    expect((await find('/webhook/deliveries', { id }, token)).data, id).toEqual([]);
    expect((await find('/incidents', { id }, token)).data, id).toEqual([]);
  }
});

test('an erased payload and its answers are found no more', async () => {
  const id = await report('F', { data: { place: 'terminal 9 gate 14' } });
  await world.untilAll([deliveries.get(id) ?? ''], 'abandoned');
  const found = async (text: string) =>
    (await find('/webhook/deliveries', { text, id })).data.length;
  expect([await found('terminal 9'), await found('gesperrt')]).toEqual([1, 1]);
  await world.call('POST', `/incidents/${id}/erase`);
  expect([await found('terminal 9'), await found('gesperrt')]).toEqual([0, 0]);
});

test.each([
  'last_status=5x',
  'last_status=600',
  'type=incid*',
  'type=*.created',
  'text=',
  'from=2026-03-05',
  'from=2026-02-30&to=2026-03-05',
  'from=2026-03-05T10:00&to=2026-03-05',
  'from=2026-03-05T12:00:00Z&to=2026-03-05T11:00:00Z',
  'from=2026-03-05T12:00:00Z&to=2026-03-04',
])('refuses ?%s', async (query) => {
  for (const path of ['/webhook/deliveries', '/incidents']) {
    expect((await world.call('GET', `${path}?${query}`)).status, path).toBe(400);
  }
});

test('says how far it looked for what is rare, and reads on to it', async () => {
  await world.db.query(sql`
    with made as (
      insert into incidents (id, tenant, type, occurred_at, body, created_at)
      select 'inc_' || lpad(n::text, 16, '0'), 'R', 'incident.created', now(),
        case n when 1 then '{"data":"needle"}' else '{}' end, '2026-01-02'::timestamptz + n * interval '1 second'
      from generate_series(1, 20001) n returning id, created_at
    )
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key, status,
      next_attempt_at, max_attempts, attempts, last_status, created_at)
    select 1, 'dlv_01' || right(id, 18), id, 'ep_r', 'R', 'incident.created', 'https://x', 'msg_' || id, 'delivered',
      null, 8, 1, 204, created_at from made`);
  for (const path of ['/webhook/deliveries', '/incidents']) {
    for (const filters of [{ text: 'needle' }, { id: 'msg_inc_0000000000000001' }] as const) {
      let page = await find(path, { tenant: 'R', ...filters });
      let looks = 1;
      while (page.data.length === 0 && page.next_cursor !== null) {
        expect(page).toMatchObject({ total: null });
        expect(page.searched_to).toMatch(/^2026-01-02T/);
        page = await find(path, { tenant: 'R', ...filters, cursor: page.next_cursor });
        looks += 1;
      }
      expect(page.data, `${path} ${JSON.stringify(filters)}`).toHaveLength(1);
      expect(looks).toBeGreaterThan(2);
      expect(page.searched_to).toBeNull();
    }
  }
});

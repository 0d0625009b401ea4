import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useWebhookApi } from '../testing/api.ts';

const { service, makeEndpoint } = useWebhookApi();
beforeAll(async () => {
  for (const tenant of ['T', 'U']) await makeEndpoint(tenant);
});

const report = (key: string | undefined, more: object = {}) =>
  service.call('POST', '/incidents', {
    body: {
      tenant: 'T',
      type: 'incident.created',
      data: { a: 1, b: { c: 2, d: 3 } },
      idempotency_key: key,
      ...more,
    },
  });

async function countRows() {
  const [row] = await service.db.query<{ incidents: number; deliveries: number }>(sql`
    select (select count(*) from incidents) as incidents,
      (select count(*) from deliveries) as deliveries`);
  return row;
}

test.each<[string, object]>([
  ['data', { data: { a: 1 } }],
  ['type', { type: 'incident.updated' }],
  ['store', { store: 'S' }],
  ['time', { occurred_at: '2026-03-05T14:07:09Z' }],
])('the same key with another %s answers 409 and stores nothing', async (name, change) => {
  const first = await report(`conflict-${name}`);
  const before = await countRows();
  const answer = await report(`conflict-${name}`, change);
  expect(answer.json).toMatchObject({ status: 409, code: 'idempotency_conflict' });
  expect(await countRows()).toEqual(before);
  expect((await report(`conflict-${name}`)).json).toEqual(first.json);
});

test('the same key gives the same answer and no second delivery, whatever became of the first', async () => {
  const first = await report('same');
  expect(first.json.deliveries).toHaveLength(1);
  const before = await countRows();
  await service.db.query(sql`
    update deliveries set status = 'delivered', next_attempt_at = null
    where incident_id = ${first.json.id}`);
  const again = await report('same');
  expect(again.status).toBe(202);
  expect(again.text).toBe(first.text);
  expect((await report('same', { data: { b: { d: 3, c: 2 }, a: 1 } })).text).toBe(first.text);
  expect(await countRows()).toEqual(before);
});

test('a key belongs to its tenant', async () => {
  const first = await report('shared');
  const other = await report('shared', { tenant: 'U', data: 'something else' });
  expect(other.status).toBe(202);
  expect(other.json.id).not.toBe(first.json.id);
});

test('reports without a key are all different', async () => {
  expect((await report(undefined)).json.id).not.toBe((await report(undefined)).json.id);
});

test('twenty at once with the same key make one incident and give one answer', async () => {
  const before = await countRows();
  const answers = await Promise.all(Array.from({ length: 20 }, () => report('at-once')));
  expect(new Set(answers.map((answer) => `${answer.status} ${answer.text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(202);
  expect(await countRows()).toEqual({
    incidents: (before?.incidents ?? 0) + 1,
    deliveries: (before?.deliveries ?? 0) + 1,
  });
});

test('of twenty different bodies at once under one key one is accepted', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => report('differ', { data: n })),
  );
  const statuses = answers.map((answer) => answer.status).sort((a, b) => a - b);
  expect(statuses).toEqual([202, ...Array(19).fill(409)]);
});

test('a key is free again after 30 days, and not while a delivery is there that its answer names', async () => {
  const first = await report('old');
  const age = (text: string) =>
    service.db.query(sql`
      update incident_keys set created_at = now() - ${text}::interval where idempotency_key = 'old'`);
  await age('29 days 23 hours');
  expect((await report('old', { data: 'new' })).status).toBe(409);
  await age('30 days 1 second');
  expect((await report('old', { data: 'new' })).status).toBe(409);
  expect((await report('old')).text).toBe(first.text);
  await service.db.query(sql`delete from deliveries where incident_id = ${first.json.id}`);
  const second = await report('old', { data: 'new' });
  expect(second.status).toBe(202);
  expect(second.json.id).not.toBe(first.json.id);
  expect((await report('old', { data: 'new' })).text).toBe(second.text);
  expect((await report('old')).status).toBe(409);
});

test('numbers are compared as they are spelled, whatever a double makes of them', async () => {
  const send = (data: string) =>
    service.call('POST', '/incidents', {
      headers: { 'content-type': 'application/json' },
      body: `{"tenant":"T","type":"a.b","data":${data},"idempotency_key":"spelled"}`,
    });
  const first = await send('{"n":9007199254740993, "m":1}');
  expect(first.status, first.text).toBe(202);
  expect((await send('{"n":9007199254740992,"m":1}')).json.code).toBe('idempotency_conflict');
  expect((await send('{"m":1,"n":9007199254740993}')).json).toEqual(first.json);
});

test('a name that stands twice in the body is refused, however it is spelled', async () => {
  const before = await countRows();
  for (const twice of ['"tenant":"U"', '"ten\\u0061nt":"U"', '"tenant":"T"']) {
    const answer = await service.call('POST', '/incidents', {
      headers: { 'content-type': 'application/json' },
      body: `{"tenant":"T","type":"a.b","data":1,${twice}}`,
    });
    expect(answer.json).toMatchObject({
      status: 400,
      errors: [{ path: '/tenant', message: 'is given more than once' }],
    });
  }
  expect(await countRows()).toEqual(before);
});

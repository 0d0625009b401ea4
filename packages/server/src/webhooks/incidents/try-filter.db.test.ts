import { expect, test } from 'vitest';
import { useWebhookApi } from '../testing/api.ts';

const { service, report: reportOne } = useWebhookApi();
const report = async (tenant: string, more: object): Promise<string> =>
  (await reportOne({ tenant, ...more })).id;

async function tryFilter(body: object | string) {
  const answer = await service.call('POST', '/webhook/filters/test', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

test('says of the newest incidents which an endpoint would get, and why not the others', async () => {
  const tenant = 'tried';
  const high = await report(tenant, { data: { score: 0.9 }, store: 'DFW' });
  const low = await report(tenant, { data: { score: 0.1 }, store: 'DFW' });
  const other = await report(tenant, { data: { score: 1 } });
  const resolved = await report(tenant, { data: { score: 1 }, type: 'x.y', store: 'DFW' });
  await report('another', { data: { score: 1 } });
  const erased = await report(tenant, { data: { score: 1 } });
  await service.call('POST', `/incidents/${erased}/erase`, { body: undefined });
  const asked = { tenant, event_types: ['incident.*'], stores: ['DFW'], where: 'score >= 0.9' };
  const tried = await tryFilter(asked);
  expect(tried).toMatchObject({ looked_at: 4, passed: 1 });
  expect(
    tried.data.map((row: { id: string; reason: string | null }) => [row.id, row.reason]),
  ).toEqual([
    [resolved, 'type'],
    [other, 'store'],
    [low, 'where'],
    [high, null],
  ]);
  expect(await tryFilter({ ...asked, limit: 1 })).toMatchObject({ looked_at: 1, passed: 0 });
});

test('a payload that is given is looked at as it is spelled', async () => {
  const tried = (n: string) =>
    tryFilter(
      `{"tenant":"given","where":"n > 9007199254740992","incident":{"type":"a.b","data":{"n":${n}}}}`,
    );
  expect(await tried('9007199254740993')).toEqual({
    looked_at: 1,
    passed: 1,
    data: [{ id: null, created_at: null, type: 'a.b', store: null, passes: true, reason: null }],
  });
  expect(await tried('9007199254740992')).toMatchObject({ passed: 0 });
});

test('a payload that costs too much would be delivered', async () => {
  const tags = Array(100_000).fill('a');
  const incident = { type: 'a.b', data: { tags } };
  expect(await tryFilter({ tenant: 'costly', where: 'any(tags) = "x"', incident })).toMatchObject({
    passed: 1,
    data: [{ passes: true, reason: 'too_costly' }],
  });
});

test.each([
  [{ where: 'a >' }, '/where', 'where_invalid'],
  [
    { incident: { type: 'a.b', data: 1, occurred_at: '2299-01-01T00:00:00Z' } },
    '/incident/occurred_at',
    'value_invalid',
  ],
  [{ incident: { type: 'a' } }, '/incident/type', 'value_invalid'],
  [{ limit: 101 }, '/limit', 'value_invalid'],
  [{ filter: 'a = 1' }, '/filter', 'field_unknown'],
])('refuses %j', async (more, path, code) => {
  const answer = await service.call('POST', '/webhook/filters/test', {
    body: { tenant: 'T', ...more },
  });
  expect(answer.status).toBe(400);
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path, code }));
});

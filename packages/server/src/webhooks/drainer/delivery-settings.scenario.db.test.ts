import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { answer, delayed, hang } from '../../../test/receiver.ts';
import { isStatus, useCleanWorld } from './testing/world.ts';

const { world, receiver } = useCleanWorld();
const at = (id: string, verb = '') => `/webhook/endpoints/${id}${verb}`;
const change = (id: string, body: object) => world.call('PATCH', at(id), { body });

test('settings of a delivery are set one by one, and put back to their defaults', async () => {
  const delivery = { timeout_seconds: 5, no_retry_on: [400, 422] };
  const { id } = await world.addEndpoint(receiver.url(), { delivery });
  expect((await world.call('GET', at(id))).json.delivery).toEqual(delivery);
  const next = { timeout_seconds: null, expires_after_seconds: 60 };
  expect((await change(id, { delivery: next })).json.delivery).toEqual({
    no_retry_on: [400, 422],
    expires_after_seconds: 60,
  });
  expect((await change(id, { rate_limit: 5 })).json.delivery).toHaveProperty('no_retry_on');
  expect((await change(id, { delivery: null })).json.delivery).toBeNull();
});

test.each([
  { no_retry_on: [410] },
  { no_retry_on: [429] },
  { no_retry_on: [500] },
  { no_retry_on: [] },
  { timeout_seconds: 0 },
  { max_in_flight: 65 },
  { expires_after: 5 },
])('%o is refused', async (delivery) => {
  const { id } = await world.addEndpoint(receiver.url());
  expect(await change(id, { delivery })).toMatchObject({
    status: 400,
    json: { code: 'request_invalid' },
  });
});

test('an attempt ends after the time limit of its endpoint', async () => {
  receiver.behave(() => hang());
  await world.addEndpoint(receiver.url(), { delivery: { timeout_seconds: 1 } });
  const [id = ''] = await world.report();
  const failed = await world.untilDelivery(id, isStatus('pending'));
  expect(failed).toMatchObject({ error: 'No answer within 1 s', failure_class: 'timeout_headers' });
});

test('an answer that is final abandons at once, under a class of its own; others do not', async () => {
  receiver.behave(({ number }) => answer(number === 1 ? 422 : 500));
  await world.addEndpoint(receiver.url(), { delivery: { no_retry_on: [400, 422] } });
  const [refused = ''] = await world.report();
  const abandoned = await world.untilDelivery(refused, isStatus('abandoned'));
  expect(abandoned).toMatchObject({
    failure_class: 'final_status',
    attempts: 1,
    max_attempts: 1,
    last_status: 422,
    next_retry: null,
    waiting: { text: expect.stringContaining('wants no other attempt after this answer') },
  });
  const [failed = ''] = await world.report();
  await world.untilDelivery(failed, isStatus('pending'));
  const groups = await world.call('GET', '/webhook/dlq/groups?status=abandoned');
  expect(groups.json.data).toMatchObject([{ failure_class: 'final_status', count: 1 }]);
});

test('no more is under way at an endpoint than it allows', async () => {
  let [underWay, most] = [0, 0];
  receiver.behave(() => async (exchange) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await delayed(30, answer(200))(exchange);
    underWay -= 1;
  });
  const { id } = await world.addEndpoint(receiver.url(), {
    enabled: false,
    delivery: { max_in_flight: 2 },
  });
  const ids = await world.report(30);
  await change(id, { enabled: true });
  await world.untilAll(ids, 'delivered');
  expect(most).toBe(2);
});

test('what is too old is not sent, but told as expired, and sent once when retried by hand', async () => {
  const { id } = await world.addEndpoint(receiver.url(), {
    enabled: false,
    delivery: { expires_after_seconds: 3600 },
  });
  const old = await world.report(3);
  await world.db.query(sql`
    update deliveries set created_at = now() - interval '2 hours' where id = any(${old}::text[])`);
  const young = await world.report(1);
  await change(id, { enabled: true });
  await world.untilAll(young, 'delivered');
  await world.untilAll(old, 'abandoned');
  expect(receiver.requests).toHaveLength(1);
  const [first = ''] = old;
  expect(await world.untilDelivery(first, () => true)).toMatchObject({
    failure_class: 'expired',
    attempts: 0,
    max_attempts: 0,
    attempt_log: [],
    error: expect.stringContaining('not delivered within 3600 s'),
  });
  const hours = (await world.call('GET', `/stats/deliveries?endpoint_id=${id}&hours=1`)).json;
  expect(hours.abandoned).toEqual([3]);
  await world.call('POST', `/webhook/dlq/${first}/retry`);
  await world.untilAll([first], 'delivered');
  expect(receiver.requests).toHaveLength(2);
});

test('a delivery whose next attempt would come too late waits until it expires', async () => {
  receiver.behave(() => answer(500));
  await world.addEndpoint(receiver.url(), {
    retry_schedule: [7200],
    delivery: { expires_after_seconds: 600 },
  });
  const [id = ''] = await world.report();
  const failed = await world.untilDelivery(id, isStatus('pending'));
  expect(failed.waiting.text).toContain('it expires at');
  const leftMillis = Date.parse(failed.next_retry) - Date.parse(failed.created_at);
  expect(leftMillis).toBeGreaterThan(590_000);
  expect(leftMillis).toBeLessThan(610_000);
  await world.db.query(sql`
    update deliveries set created_at = now() - interval '601 seconds' where id = ${id}`);
  await world.makeDue(id);
  const expired = await world.untilDelivery(id, isStatus('abandoned'));
  expect(expired).toMatchObject({ failure_class: 'expired', attempts: 1, max_attempts: 1 });
  expect(receiver.requests).toHaveLength(1);
});

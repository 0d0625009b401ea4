import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../../test/receiver.ts';
import { useWorld } from './testing/world.ts';

const receiver = useReceiver();
const world = useWorld();

/** An endpoint that failed so often that it is paused, with all its deliveries abandoned or waiting. */
async function breakOpen(): Promise<{ endpoint: string; ids: string[] }> {
  receiver.behave(() => answer(500));
  const { id: endpoint } = await world.addEndpoint(receiver.url(), { max_attempts: 1 });
  const ids = await world.report(40);
  const state = async () => {
    const { json } = await world.call('GET', `/webhook/endpoints/${endpoint}`);
    const leased = await world.db.query(sql`
      select from deliveries where endpoint_id = ${endpoint} and lease is not null`);
    return leased.length === 0 ? json.breaker.state : 'busy';
  };
  await expect.poll(state, { timeout: 120_000 }).toBe('open');
  return { endpoint, ids };
}

const retryAll = async (endpoint: string) => {
  const body = { endpoint_id: endpoint };
  expect((await world.call('POST', '/webhook/dlq/retry', { body })).status).toBe(202);
};

test('a bulk re-arm probes a paused endpoint with one row, whose success lets the others go', async () => {
  const { endpoint, ids } = await breakOpen();
  receiver.behave(() => answer(204));
  await retryAll(endpoint);
  await world.untilAll(ids, 'delivered');
  await world.expectCountsToFit();
});

test('a bulk re-arm tries a paused endpoint that still fails once, and burns no more attempts', async () => {
  const { endpoint, ids } = await breakOpen();
  const before = receiver.requests.length;
  await retryAll(endpoint);
  const again = () =>
    world.db.query(sql`
      select from deliveries where endpoint_id = ${endpoint} and attempts = 2`);
  await expect.poll(again, { timeout: 120_000 }).toHaveLength(1);
  for (const id of ids) {
    const { status, waiting } = await world.untilDelivery(id, () => true);
    if (status === 'queued') expect(waiting.reason).toBe('breaker');
    else expect(status).toBe('abandoned');
  }
  expect(receiver.requests.length - before).toBe(1);
});

test('what is new goes before what was tried, however much of that waits', async () => {
  receiver.behave(() => answer(204));
  const { id: endpoint } = await world.addEndpoint(receiver.url('/fresh'), {
    tenant: 'fresh',
    rate_limit: 10,
    enabled: false,
  });
  const old = await world.report(80, 'fresh');
  await world.db.query(sql`
    update deliveries set last_attempt_at = now() where endpoint_id = ${endpoint}`);
  await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { enabled: true } });
  const arrived = () => receiver.requests.filter(({ path }) => path === '/fresh');
  await receiver.waitUntil(() => arrived().length >= 1);
  const fresh = await world.report(5, 'fresh');
  await world.untilAll(fresh, 'delivered');
  expect(arrived().length).toBeLessThan(40);
  await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { rate_limit: null } });
  await world.untilAll(old, 'delivered');
});

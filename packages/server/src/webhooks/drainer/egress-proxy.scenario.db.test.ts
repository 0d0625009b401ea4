import { expect, test } from 'vitest';
import { useReceiver } from '../../../test/receiver.ts';
import { useWorld } from './testing/world.ts';

// Nothing listens there.
const world = useWorld({ SVC_WEBHOOK_PROXY: 'http://127.0.0.1:1' });
const receiver = useReceiver();

test('a proxy that fails uses up attempts, but pauses no endpoint', async () => {
  const { id } = await world.addEndpoint(receiver.url());
  const ids = await world.report(30);
  await world.untilAll(ids, 'pending');
  const { breaker } = (await world.call('GET', `/webhook/endpoints/${id}`)).json;
  expect(breaker).toMatchObject({ state: 'closed', failures_in_row: 0 });
  const groups = (await world.call('GET', '/webhook/dlq/groups?status=pending')).json.data;
  expect(groups).toMatchObject([{ failure_class: 'proxy', count: 30 }]);
  expect(receiver.requests).toEqual([]);
});

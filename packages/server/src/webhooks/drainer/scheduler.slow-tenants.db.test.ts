import { test } from 'vitest';
import { hold } from '../../../test/held-pace.ts';
import { after, answer, useReceiver } from '../../../test/receiver.ts';
import { isStatus, useWorld } from './testing/world.ts';

const receiver = useReceiver();
const world = useWorld({ SVC_DRAINER_IN_FLIGHT: '64', SVC_WEBHOOK_TIMEOUT_SECONDS: '100' });

test('delivers of a quiet tenant while slow ones hold all places that they can have', async () => {
  const gate = hold();
  receiver.behave(({ path }) =>
    path === '/slow' ? after(gate.promise, answer(200)) : answer(204),
  );
  const slow = ['A', 'B', 'C', 'D', 'E', 'F'];
  const tenants = slow.flatMap((tenant) => [tenant, tenant, tenant, tenant]);
  await Promise.all(tenants.map((tenant) => world.addEndpoint(receiver.url('/slow'), { tenant })));
  await world.addEndpoint(receiver.url('/quiet'), { tenant: 'quiet' });
  const held = (await Promise.all(slow.map((tenant) => world.report(4, tenant)))).flat();
  // 64 places, of which eight are kept.
  await receiver.waitUntil((requests) => requests.length >= 56);
  for (let n = 0; n < 10; n += 1) {
    const [id = ''] = await world.report(1, 'quiet');
    await world.untilDelivery(id, isStatus('delivered'));
  }
  gate.resolve();
  await world.untilAll(held, 'delivered');
});

import { afterAll, beforeAll, test } from 'vitest';
import { after, answer, type Receiver, startReceiver } from '../../../test/receiver.ts';
import { createGate, isStatus, startWorld, type World } from './testing/world.ts';

let world: World;
let receiver: Receiver;
beforeAll(async () => {
  const settings = { SVC_DRAINER_IN_FLIGHT: '64', SVC_WEBHOOK_TIMEOUT_SECONDS: '100' };
  [world, receiver] = await Promise.all([startWorld(settings), startReceiver()]);
});
afterAll(async () => {
  await world?.stop();
  await receiver?.close();
});

test('delivers of a quiet tenant while slow ones hold all places that they can have', async () => {
  const gate = createGate();
  receiver.behave(({ path }) => (path === '/slow' ? after(gate.opened, answer(200)) : answer(204)));
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
  gate.open();
  await world.untilAll(held, 'delivered');
});

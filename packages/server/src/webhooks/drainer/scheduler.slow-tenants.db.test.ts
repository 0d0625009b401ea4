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
  for (const tenant of slow) {
    for (let n = 0; n < 4; n += 1) await world.addEndpoint(receiver.url('/slow'), { tenant });
  }
  await world.addEndpoint(receiver.url('/quiet'), { tenant: 'quiet' });
  const held: string[] = [];
  for (const tenant of slow) held.push(...(await world.report(4, tenant)));
  // 64 places, of which eight are kept.
  await receiver.waitUntil((requests) => requests.length >= 56);
  for (let n = 0; n < 10; n += 1) {
    const [id = ''] = await world.report(1, 'quiet');
    await world.untilDelivery(id, isStatus('delivered'));
  }
  gate.open();
  for (const id of held) await world.untilDelivery(id, isStatus('delivered'));
});

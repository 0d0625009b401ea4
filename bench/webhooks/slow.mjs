import { createServer } from 'node:http';
import { summary } from '../lib/latency.mjs';
import { listen } from '../lib/listen.mjs';
import { formatCount, formatMillis, goal, markdownTable } from '../lib/table.mjs';
import { startArrivals } from './arrivals.mjs';
import { openLoop } from './open-loop.mjs';
import { seedDeliveries, settle } from './seed.mjs';
import { addEndpoint, startWorld } from './world.mjs';

const perSecond = 20;
const slowTenants = 6;
/** With one endpoint each they would not want all places. */
const endpointsEach = 4;
const mostMoreMillis = 50;

/** What tenants whose receivers take long, and then succeed, do to one that is quiet. */
export async function benchSlow({ scope, dir, postgres, sizes, say }) {
  const { seconds, backlog, warmSeconds, answerMillis } = sizes.slow;
  const world = await startWorld(scope, { dir, postgres, name: 'slow' });
  const arrivals = await startArrivals(scope);
  const receiver = await startSlow(scope, answerMillis);
  await addEndpoint(world, 'quiet', `${arrivals.url}/quiet`);
  const slow = [];
  for (let n = 0; n < slowTenants * endpointsEach; n += 1) {
    const tenant = `slow ${n % slowTenants}`;
    slow.push(await addEndpoint(world, tenant, `${receiver.url}/${n}`, { enabled: false }));
  }
  say(`slow: queueing ${formatCount(backlog)} deliveries for each of ${slow.length} endpoints`);
  for (const { id } of slow) await seedDeliveries(world.client, id, backlog);
  await settle(world.client);
  const load = { world, arrivals, tenants: ['quiet'], perSecond };
  await openLoop({ ...load, seconds: warmSeconds });
  say(`slow: twice ${seconds} s`);
  const alone = summary(await openLoop({ ...load, seconds }));
  for (const { id } of slow) {
    await world.call('PATCH', `/webhook/endpoints/${id}`, { enabled: true });
  }
  const beside = summary(await openLoop({ ...load, seconds }));
  const row = (what, { p50, p99 }, last) => [what, formatMillis(p50), formatMillis(p99), last];
  const isMet = beside.p99 <= alone.p99 + mostMoreMillis;
  const table = markdownTable(
    ['', 'p50:', 'p99:', 'goal'],
    [
      row('a quiet tenant alone', alone, ''),
      row(
        `beside ${slowTenants} tenants answered after ${answerMillis / 1000} s`,
        beside,
        goal(`p99 + ${mostMoreMillis} ms`, isMet),
      ),
    ],
  );
  return `### Slow tenants beside a quiet one\n\n${perSecond} incidents/s of the quiet tenant, open loop, ${seconds} s each; for each of the ${endpointsEach} endpoints of a slow tenant ${formatCount(backlog)} deliveries wait, and ${receiver.most()} at most of all of them were under way at once.\n\n${table}`;
}

async function startSlow(scope, answerMillis) {
  let [underWay, most] = [0, 0];
  const server = createServer((request, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    request.resume();
    const timer = setTimeout(() => response.writeHead(204).end(), answerMillis);
    response.once('close', () => {
      clearTimeout(timer);
      underWay -= 1;
    });
  });
  server.keepAliveTimeout = 60_000;
  const url = await listen(server);
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, most: () => most };
}

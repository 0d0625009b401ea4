import { createServer } from 'node:http';
import { listen } from '../lib/listen.mjs';
import { formatCount, goal, markdownTable } from '../lib/table.mjs';
import { seedDeliveries, settle } from './seed.mjs';
import { addEndpoint, startWorld } from './world.mjs';

const perSecond = 5;

/** How much a receiver gets that takes so many in each second, and answers the others 429 with Retry-After. */
export async function benchThrottled({ scope, dir, postgres, sizes, say }) {
  const { seconds } = sizes.throttled;
  const world = await startWorld(scope, { dir, postgres, name: 'throttled' });
  const receiver = await startThrottling(scope);
  const endpoint = await addEndpoint(world, 'throttled', receiver.url, { enabled: false });
  const backlog = 2 * perSecond * seconds;
  await seedDeliveries(world.client, endpoint.id, backlog);
  await settle(world.client);
  say(`throttled: ${seconds} s`);
  await world.call('PATCH', `/webhook/endpoints/${endpoint.id}`, { enabled: true });
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { accepted, refused } = receiver;
  const share = accepted / (perSecond * seconds);
  const [{ attempts }] = (
    await world.client.query(
      `select count(*)::int as attempts from delivery_attempts where failure_class is not null`,
    )
  ).rows;
  const table = markdownTable(
    ['', 'figure:', 'goal'],
    [
      ['taken of what it can take', `${Math.round(share * 100)} %`, goal('≥ 90 %', share >= 0.9)],
      ['requests that it refused', formatCount(refused), ''],
      ['attempts counted as failed', formatCount(attempts), goal('0', attempts === 0)],
    ],
  );
  return `### A receiver that takes ${perSecond} a second\n\n${formatCount(backlog)} deliveries wait for it, for ${seconds} s; it answers what is too much by 429 with \`Retry-After: 1\`.\n\n${table}`;
}

async function startThrottling(scope) {
  const counts = { accepted: 0, refused: 0, url: '' };
  let [second, taken] = [0, 0];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const now = Math.floor(performance.now() / 1000);
      if (now !== second) [second, taken] = [now, 0];
      taken += 1;
      const isTaken = taken <= perSecond;
      counts[isTaken ? 'accepted' : 'refused'] += 1;
      response.writeHead(isTaken ? 204 : 429, isTaken ? {} : { 'retry-after': '1' }).end();
    });
  });
  server.keepAliveTimeout = 60_000;
  counts.url = await listen(server);
  scope.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return counts;
}

import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { formatCount, formatMillis, formatRatio, goal, markdownTable } from '../lib/table.mjs';
import { seedDeliveries, settle } from './seed.mjs';
import { addEndpoint, startWorld } from './world.mjs';

const path = '/api/v1/webhook/dlq?status=abandoned';

/** The list and its total with few rows and with many. */
export async function benchDeadLetters({ scope, dir, postgres, sizes, say }) {
  const { few, many, requests } = sizes.deadLetters;
  const world = await startWorld(scope, { dir, postgres, name: 'dead_letters', roles: 'api' });
  const endpoints = [];
  for (let n = 0; n < 10; n += 1) {
    endpoints.push((await addEndpoint(world, `tenant-${n % 5}`, `http://127.0.0.1:9/${n}`)).id);
  }
  const client = createClient(scope, world);
  const kinds = {
    'first page of 200, and total': () => path,
    'of one tenant': () => `${path}&tenant=tenant-3`,
    'of one endpoint': () => `${path}&endpoint_id=${endpoints[7]}`,
    'a page further on': (places) => `${path}&cursor=${places.cursor}`,
    groups: () => '/api/v1/webhook/dlq/groups?status=abandoned',
  };
  const found = {};
  let stored = 0;
  for (const rows of [few, many]) {
    say(`dead letters: ${formatCount(rows)} rows`);
    for (const id of endpoints) {
      await seedDeliveries(world.client, id, (rows - stored) / endpoints.length, {
        status: 'abandoned',
        // Another class for the second lot: its ids must differ as well.
        failureClass: stored === 0 ? 'status' : 'timeout_headers',
        offset: stored,
      });
    }
    stored = rows;
    await settle(world.client);
    found[rows] = await measure(client, kinds, { rows, requests });
  }
  const table = markdownTable(
    ['', `p99 at ${formatCount(few)}:`, `p99 at ${formatCount(many)}:`, 'p50 ratio:', 'goal'],
    Object.keys(kinds).map((kind) => {
      const [small, large] = [found[few][kind], found[many][kind]];
      const ratio = large.p50 / small.p50;
      return [
        kind,
        formatMillis(small.p99),
        formatMillis(large.p99),
        formatRatio(ratio),
        goal('p99 < 20 ms, ≤ 1.5', large.p99 < 20 && ratio <= 1.5),
      ];
    }),
  );
  return `### The dead-letter queue\n\nRequests one at a time, body included; ${requests} of each kind.\n\n${table}`;
}

async function measure(client, kinds, { rows, requests }) {
  const { body } = await client.get(path);
  if (body.total !== rows) throw new Error(`a total of ${body.total}, not ${rows}`);
  const places = { cursor: body.next_cursor };
  const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
  for (let i = 0; i < requests + 20; i += 1) {
    for (const [kind, pathOf] of Object.entries(kinds)) {
      const { elapsedMillis } = await client.get(pathOf(places));
      if (i >= 20) times[kind].push(elapsedMillis);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([kind, list]) => [kind, summary(list)]));
}

import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { formatCount, formatMillis, goal, markdownTable } from '../lib/table.mjs';
import { startArrivals } from './arrivals.mjs';
import { openLoop } from './open-loop.mjs';
import { seedDeliveries, settle } from './seed.mjs';
import { addEndpoint, startWorld, until } from './world.mjs';

const perSecond = 50;
const tenants = ['a', 'b'];

/** A bulk re-arm in the background, and what deliveries and pages feel of it. */
export async function benchRearm({ scope, dir, postgres, sizes, say }) {
  const { rows, warmSeconds, beforeSeconds, duringSeconds } = sizes.rearm;
  const world = await startWorld(scope, { dir, postgres, name: 'rearm' });
  const arrivals = await startArrivals(scope);
  for (const tenant of tenants) await addEndpoint(world, tenant, `${arrivals.url}/${tenant}`);
  // Nobody listens there: what is re-armed fails at once and its breaker opens.
  const dead = await addEndpoint(world, 'dead', 'http://127.0.0.1:9/in');
  await seedDeliveries(world.client, dead.id, rows, { status: 'abandoned' });
  await settle(world.client);
  const client = createClient(scope, world);
  await openLoop({ world, arrivals, tenants, perSecond, seconds: warmSeconds });
  say('re-arm: deliveries and pages before');
  const before = await loadFor(beforeSeconds);
  say(`re-arm: ${formatCount(rows)} rows`);
  const startedAt = performance.now();
  const job = await world.call('POST', '/webhook/dlq/retry', { endpoint_id: dead.id });
  const ended = until(async () => {
    const { state, rows_done: done } = await world.call('GET', `/webhook/dlq/retries/${job.id}`);
    return state === 'completed' ? { done, millis: performance.now() - startedAt } : undefined;
  });
  const during = await loadFor(duringSeconds);
  const { done, millis } = await ended;
  if (done !== rows) throw new Error(`${done} rows re-armed, not ${rows}`);
  return report({ before, during, rows, millis });

  async function loadFor(seconds) {
    let isOver = false;
    const pages = (async () => {
      const times = [];
      while (!isOver) {
        times.push(
          (await client.get('/api/v1/webhook/dlq?status=abandoned&limit=200')).elapsedMillis,
        );
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return summary(times);
    })();
    const deliveries = summary(await openLoop({ world, arrivals, tenants, perSecond, seconds }));
    isOver = true;
    return { deliveries, pages: await pages };
  }
}

function report({ before, during, rows, millis }) {
  const row = (what, name) => [
    what,
    formatMillis(before[name].p50),
    formatMillis(before[name].p99),
    formatMillis(during[name].p50),
    formatMillis(during[name].p99),
    goal('p99 < 100 ms meanwhile', during[name].p99 < 100),
  ];
  const table = markdownTable(
    ['', 'p50 before:', 'p99 before:', 'p50 meanwhile:', 'p99 meanwhile:', 'goal'],
    [
      row(`deliveries of other tenants, ${perSecond}/s`, 'deliveries'),
      row('dead-letter pages of 200', 'pages'),
    ],
  );
  return `### Re-arming in bulk\n\n${formatCount(rows)} abandoned rows re-armed in ${(millis / 1000).toFixed(1)} s, ${formatCount((rows / millis) * 1000)} rows/s.\n\n${table}`;
}

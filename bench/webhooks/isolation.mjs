import { summary } from '../lib/latency.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatMillis, goal, markdownTable } from '../lib/table.mjs';
import { startArrivals, startBlackHole } from './arrivals.mjs';
import { openLoop } from './open-loop.mjs';
import { seedDeliveries, settle } from './seed.mjs';
import { addEndpoint, startWorld } from './world.mjs';

const perSecond = 100;

/** What a dead tenant with a long queue does to the others. */
export async function benchIsolation({ scope, dir, postgres, sizes, say }) {
  const { seconds, backlog, pairs, warmSeconds } = sizes.isolation;
  const world = await startWorld(scope, { dir, postgres, name: 'isolation' });
  const arrivals = await startArrivals(scope);
  const hole = await startBlackHole(scope);
  const tenants = ['a', 'b', 'c', 'd'];
  for (const tenant of tenants) await addEndpoint(world, tenant, `${arrivals.url}/${tenant}`);
  const dead = await addEndpoint(world, 'dead', `${hole}/in`, { enabled: false });
  say(`isolation: queueing ${formatCount(backlog)} deliveries of a dead tenant`);
  await seedDeliveries(world.client, dead.id, backlog);
  await settle(world.client);
  const load = { world, arrivals, tenants, perSecond };
  await openLoop({ ...load, seconds: warmSeconds });
  const runs = { alone: [], beside: [] };
  for (let pair = 0; pair < pairs; pair += 1) {
    say(`isolation: pair ${pair + 1} of ${pairs}`);
    await world.call('PATCH', `/webhook/endpoints/${dead.id}`, { enabled: false });
    runs.alone.push(summary(await openLoop({ ...load, seconds })));
    // Enabling closes its breaker: the dead endpoint begins anew with all it is allowed.
    await world.call('PATCH', `/webhook/endpoints/${dead.id}`, { enabled: true });
    runs.beside.push(summary(await openLoop({ ...load, seconds })));
  }
  const of = (list, name) => median(list.map((run) => run[name]));
  const rise = of(runs.beside, 'p99') - of(runs.alone, 'p99');
  const isMet = rise <= Math.max(5, of(runs.alone, 'p99') * 0.1);
  const row = (what, list, last) => [
    what,
    formatMillis(of(list, 'p50')),
    formatMillis(of(list, 'p99')),
    last,
  ];
  const table = markdownTable(
    ['', 'p50:', 'p99:', 'goal'],
    [
      row('other tenants, the dead one disabled', runs.alone, ''),
      row(
        `other tenants beside ${formatCount(backlog)} rows that time out`,
        runs.beside,
        goal('p99 + 10 % or 5 ms', isMet),
      ),
    ],
  );
  return `### A dead tenant beside others\n\n${perSecond} incidents/s of four tenants, open loop, medians of ${pairs} pairs.\n\n${table}`;
}

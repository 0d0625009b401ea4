import { summary, until } from '../lib/measure.mjs';
import { formatCount, goal, latencyCells, markdownTable, section } from '../lib/table.mjs';
import { openLoop, seedDeliveries, settle, startArrivals, startWorld } from './world.mjs';

const tenants = ['a', 'b'];
const perSecond = 50;
const replayed = 200;

/** What an endpoint missed while it was down, sent again at a steady rate, and what live deliveries feel of it. */
export async function benchReplay({ sizes, say, ...bench }) {
  const { rows, warmSeconds, seconds } = sizes.replay;
  const world = await startWorld(bench, 'replay');
  const arrivals = await startArrivals(bench.scope);
  const [back] = await Promise.all(
    tenants.map((tenant) => world.addEndpoint(tenant, `${arrivals.url}/${tenant}`)),
  );
  await seedDeliveries(world.db, back.id, rows, { status: 'abandoned' });
  await settle(world.db);
  const loop = async (length) =>
    summary(await openLoop({ world, arrivals, tenants, perSecond, seconds: length }));
  await loop(warmSeconds);
  say(`replay: live deliveries for ${seconds} s`);
  const before = await loop(seconds);
  say(`replay: ${formatCount(rows)} rows at ${replayed}/s`);
  const asked = { since: '2000-01-01T00:00:00Z', only: 'failed', rate: replayed };
  await world.call('POST', `/webhook/endpoints/${back.id}/replay`, asked);
  await until(() => arrivals.keyless() > 0);
  const [startedAt, sentBefore] = [performance.now(), arrivals.keyless()];
  const during = await loop(seconds);
  const rate = ((arrivals.keyless() - sentBefore) / (performance.now() - startedAt)) * 1000;
  return section(
    'A replay beside live deliveries',
    `${formatCount(rows)} failed deliveries of an endpoint are sent again at ${replayed}/s; ${perSecond} incidents/s of its tenant and of another, open loop, ${seconds} s each.`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        ['live deliveries alone', ...latencyCells(before), ''],
        ['beside the replay', ...latencyCells(during), goal('p99 < 50 ms', during.p99)],
        ['replayed deliveries/s', `${Math.round(rate)}`, '', goal(`≥ ${replayed * 0.95}`, rate)],
      ],
    ),
  );
}

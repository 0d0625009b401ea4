import { setTimeout as delay } from 'node:timers/promises';
import { inTurn, mapValues, summary, until } from '../lib/measure.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  goal,
  latencyCells,
  markdownTable,
  section,
} from '../lib/table.mjs';
import { openLoop, seedDeliveries, settle, startArrivals, startWorld } from './world.mjs';

const path = '/api/v1/webhook/dlq?status=abandoned';

/** The list and its total with few rows and with many. */
export async function benchDeadLetters({ sizes, say, ...bench }) {
  const { few, many, requests } = sizes.deadLetters;
  const world = await startWorld(bench, 'dead-letters', 'api');
  const endpoints = [];
  for (let n = 0; n < 10; n += 1) {
    endpoints.push((await world.addEndpoint(`tenant-${n % 5}`, `http://127.0.0.1:9/${n}`)).id);
  }
  const found = {};
  let stored = 0;
  for (const rows of [few, many]) {
    say(`dead letters: ${formatCount(rows)} rows`);
    for (const id of endpoints) {
      await seedDeliveries(world.db, id, (rows - stored) / endpoints.length, {
        status: 'abandoned',
        // Another class for the second lot: its ids must differ as well.
        failureClass: stored === 0 ? 'status' : 'timeout_headers',
        offset: stored,
      });
    }
    stored = rows;
    await settle(world.db);
    const { body } = await world.client.get(path);
    if (body.total !== rows) throw new Error(`a total of ${body.total}, not ${rows}`);
    const paths = {
      'first page of 200, and total': path,
      'of one tenant': `${path}&tenant=tenant-3`,
      'of one endpoint': `${path}&endpoint_id=${endpoints[7]}`,
      'a page further on': `${path}&cursor=${body.next_cursor}`,
      groups: '/api/v1/webhook/dlq/groups?status=abandoned',
    };
    const asking = mapValues(paths, (asked) => async () => {
      return (await world.client.get(asked)).elapsedMillis;
    });
    found[rows] = mapValues(await inTurn(asking, requests, { warmups: 20 }), summary);
  }
  const rows = Object.entries(found[many]).map(([kind, large]) => {
    const small = found[few][kind];
    const ratio = large.p50 / small.p50;
    return [
      ...[kind, formatMillis(small.p99), formatMillis(large.p99), formatRatio(ratio)],
      goal('p99 < 20 ms, ≤ 1.5', large.p99 < 20 && ratio <= 1.5),
    ];
  });
  return section(
    'The dead-letter queue',
    `Requests one at a time, body included; ${requests} of each kind.`,
    markdownTable(
      ['', `p99 at ${formatCount(few)}:`, `p99 at ${formatCount(many)}:`, 'p50 ratio:', 'goal'],
      rows,
    ),
  );
}

const perSecond = 50;
const tenants = ['a', 'b'];

/** A bulk re-arm in the background, and what deliveries and pages feel of it. */
export async function benchRearm({ sizes, say, ...bench }) {
  const { rows, warmSeconds, beforeSeconds, duringSeconds } = sizes.rearm;
  const world = await startWorld(bench, 'rearm');
  const arrivals = await startArrivals(bench.scope);
  for (const tenant of tenants) await world.addEndpoint(tenant, `${arrivals.url}/${tenant}`);
  // Nobody listens there: what is re-armed fails at once and its breaker opens.
  const dead = await world.addEndpoint('dead', 'http://127.0.0.1:9/in');
  await seedDeliveries(world.db, dead.id, rows, { status: 'abandoned' });
  await settle(world.db);
  const loop = (seconds) => openLoop({ world, arrivals, tenants, perSecond, seconds });
  await loop(warmSeconds);
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
  const row = (what, name) => [
    what,
    ...latencyCells(before[name]),
    ...latencyCells(during[name]),
    goal('p99 < 100 ms meanwhile', during[name].p99),
  ];
  return section(
    'Re-arming in bulk',
    `${formatCount(rows)} abandoned rows re-armed in ${(millis / 1000).toFixed(1)} s, ${formatCount((rows / millis) * 1000)} rows/s.`,
    markdownTable(
      ['', 'p50 before:', 'p99 before:', 'p50 meanwhile:', 'p99 meanwhile:', 'goal'],
      [
        row(`deliveries of other tenants, ${perSecond}/s`, 'deliveries'),
        row('dead-letter pages of 200', 'pages'),
      ],
    ),
  );

  async function loadFor(seconds) {
    let isOver = false;
    const pages = (async () => {
      const times = [];
      while (!isOver) {
        times.push((await world.client.get(`${path}&limit=200`)).elapsedMillis);
        await delay(50);
      }
      return summary(times);
    })();
    const deliveries = summary(await loop(seconds));
    isOver = true;
    return { deliveries, pages: await pages };
  }
}

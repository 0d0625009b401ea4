import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { serve } from '../lib/listen.mjs';
import { inTurn, median, summary, until } from '../lib/measure.mjs';
import {
  formatCount,
  formatMillis,
  goal,
  latencyCells,
  markdownTable,
  section,
} from '../lib/table.mjs';
import { openLoop, post, seedDeliveries, settle, startArrivals, startWorld } from './world.mjs';

const fourTenants = ['a', 'b', 'c', 'd'];

/** A world whose tenants have an endpoint each, all of them at one receiver, and its load. */
async function startLoad(bench, name, { tenants, perSecond }) {
  const world = await startWorld(bench, name);
  const arrivals = await startArrivals(bench.scope);
  for (const tenant of tenants) await world.addEndpoint(tenant, `${arrivals.url}/${tenant}`);
  const load = { world, arrivals, tenants, perSecond };
  return { world, arrivals, run: async (seconds) => summary(await openLoop({ ...load, seconds })) };
}

/** From an incident, or a click on retry, to the receiver. */
export async function benchLatency({ sizes, say, ...bench }) {
  const { seconds, singles, warmSeconds } = sizes.latency;
  const perSecond = 200;
  const load = { tenants: fourTenants, perSecond };
  const { world, arrivals, run } = await startLoad(bench, 'latency', load);
  await run(warmSeconds);
  say(`latency: ${perSecond} incidents/s for ${seconds} s`);
  const busy = await run(seconds);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  bench.scope.defer(() => agent.destroy());
  /** Times something so often, one at a time. */
  const each = async (name, time) => {
    say(`latency: ${name}`);
    return summary((await inTurn({ time }, singles)).time);
  };
  const idle = await each('one at a time, after idling', async (n) => {
    await delay(150 + (n % 7) * 30);
    const key = `idle-${n}`;
    const came = arrivals.arrivalOf(key);
    const acceptedAt = await post(world, agent, { tenant: 'a', key, number: n });
    // It may be there before the answer is.
    return Math.max(0, (await came) - acceptedAt);
  });
  const retry = await each('retries', async (n) => {
    const key = `retry-${n}`;
    arrivals.answer(500);
    await post(world, agent, { tenant: 'b', key, number: n });
    await arrivals.arrivalOf(key);
    arrivals.forget(key);
    arrivals.answer(204);
    const row = await until(
      async () => (await world.call('GET', '/webhook/dlq?status=pending&limit=1')).data[0],
    );
    const startedAt = performance.now();
    const came = arrivals.arrivalOf(key);
    await world.call('POST', `/webhook/dlq/${row.id}/retry`);
    return (await came) - startedAt;
  });
  const row = (what, times, cell) => [what, ...latencyCells(times), formatMillis(times.max), cell];
  return section(
    'Latency',
    'One service, receiver and client in one further process, so that one clock reads both ends. Open loop: times count from when an incident was due to be sent, not from when the client got round to it.',
    markdownTable(
      ['', 'p50:', 'p99:', 'worst:', 'goal'],
      [
        row(
          `incident sent → received, ${perSecond}/s open loop`,
          busy,
          goal('p99 < 50 ms', busy.p99),
        ),
        row('incident accepted → received, idle before', idle, goal('p50 < 20 ms', idle.p50)),
        row('retry sent → received', retry, goal('p99 < 50 ms', retry.p99)),
      ],
    ),
  );
}

/** What a dead tenant with a long queue does to the others. */
export async function benchIsolation({ sizes, say, ...bench }) {
  const { seconds, backlog, pairs, warmSeconds } = sizes.isolation;
  const perSecond = 100;
  const load = { tenants: fourTenants, perSecond };
  const { world, run } = await startLoad(bench, 'isolation', load);
  // It takes everything in and never answers.
  const hole = await serve(bench.scope, (request) => request.resume());
  const dead = await world.addEndpoint('dead', `${hole}/in`, { enabled: false });
  say(`isolation: queueing ${formatCount(backlog)} deliveries of a dead tenant`);
  await seedDeliveries(world.db, dead.id, backlog);
  await settle(world.db);
  await run(warmSeconds);
  const having = (enabled) => async () => {
    // Enabling closes its breaker: the dead endpoint begins anew with all it is allowed.
    await world.call('PATCH', `/webhook/endpoints/${dead.id}`, { enabled });
    return run(seconds);
  };
  const runs = await inTurn({ alone: having(false), beside: having(true) }, pairs, {
    onRound: (round) => say(`isolation: pair ${round + 1} of ${pairs}`),
  });
  const of = (list, name) => median(list.map((run) => run[name]));
  const rise = of(runs.beside, 'p99') - of(runs.alone, 'p99');
  const isMet = rise <= Math.max(5, of(runs.alone, 'p99') * 0.1);
  const row = (what, list, last) => [
    what,
    ...latencyCells({ p50: of(list, 'p50'), p99: of(list, 'p99') }),
    last,
  ];
  return section(
    'A dead tenant beside others',
    `${perSecond} incidents/s of four tenants, open loop, medians of ${pairs} pairs.`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        row('other tenants, the dead one disabled', runs.alone, ''),
        row(
          `other tenants beside ${formatCount(backlog)} rows that time out`,
          runs.beside,
          goal('p99 + 10 % or 5 ms', isMet),
        ),
      ],
    ),
  );
}

const slowTenants = 6;
/** With one endpoint each they would not want all places. */
const endpointsEach = 4;
const mostMoreMillis = 50;

/** What tenants whose receivers take long, and then succeed, do to one that is quiet. */
export async function benchSlow({ sizes, say, ...bench }) {
  const { seconds, backlog, warmSeconds, answerMillis } = sizes.slow;
  const perSecond = 20;
  const { world, run } = await startLoad(bench, 'slow', { tenants: ['quiet'], perSecond });
  const receiver = await startSlow(bench.scope, answerMillis);
  const slow = [];
  for (let n = 0; n < slowTenants * endpointsEach; n += 1) {
    const tenant = `slow ${n % slowTenants}`;
    slow.push(await world.addEndpoint(tenant, `${receiver.url}/${n}`, { enabled: false }));
  }
  say(`slow: queueing ${formatCount(backlog)} deliveries for each of ${slow.length} endpoints`);
  for (const { id } of slow) await seedDeliveries(world.db, id, backlog);
  await settle(world.db);
  await run(warmSeconds);
  say(`slow: twice ${seconds} s`);
  const alone = await run(seconds);
  for (const { id } of slow) {
    await world.call('PATCH', `/webhook/endpoints/${id}`, { enabled: true });
  }
  const beside = await run(seconds);
  const isMet = beside.p99 <= alone.p99 + mostMoreMillis;
  return section(
    'Slow tenants beside a quiet one',
    `${perSecond} incidents/s of the quiet tenant, open loop, ${seconds} s each; for each of the ${endpointsEach} endpoints of a slow tenant ${formatCount(backlog)} deliveries wait, and ${receiver.most()} at most of all of them were under way at once.`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        ['a quiet tenant alone', ...latencyCells(alone), ''],
        [
          `beside ${slowTenants} tenants answered after ${answerMillis / 1000} s`,
          ...latencyCells(beside),
          goal(`p99 + ${mostMoreMillis} ms`, isMet),
        ],
      ],
    ),
  );
}

async function startSlow(scope, answerMillis) {
  let [underWay, most] = [0, 0];
  const url = await serve(scope, (request, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    request.resume();
    const timer = setTimeout(() => response.writeHead(204).end(), answerMillis);
    response.once('close', () => {
      clearTimeout(timer);
      underWay -= 1;
    });
  });
  return { url, most: () => most };
}

const mostPerSecond = 5;

/** How much a receiver gets that takes so many in each second, and answers the others 429 with Retry-After. */
export async function benchThrottled({ sizes, say, ...bench }) {
  const { seconds } = sizes.throttled;
  const world = await startWorld(bench, 'throttled');
  const receiver = await startThrottling(bench.scope);
  const { id } = await world.addEndpoint('throttled', receiver.url, { enabled: false });
  const backlog = 2 * mostPerSecond * seconds;
  await seedDeliveries(world.db, id, backlog);
  await settle(world.db);
  say(`throttled: ${seconds} s`);
  await world.call('PATCH', `/webhook/endpoints/${id}`, { enabled: true });
  await delay(seconds * 1000);
  const { accepted, refused } = receiver.counts;
  const share = accepted / (mostPerSecond * seconds);
  const { rows } = await world.db.query(
    'select count(*)::int as attempts from delivery_attempts where failure_class is not null',
  );
  const [{ attempts }] = rows;
  return section(
    `A receiver that takes ${mostPerSecond} a second`,
    `${formatCount(backlog)} deliveries wait for it, for ${seconds} s; it answers what is too much by 429 with \`Retry-After: 1\`.`,
    markdownTable(
      ['', 'figure:', 'goal'],
      [
        ['taken of what it can take', `${Math.round(share * 100)} %`, goal('≥ 90 %', share)],
        ['requests that it refused', formatCount(refused), ''],
        ['attempts counted as failed', formatCount(attempts), goal('0', attempts === 0)],
      ],
    ),
  );
}

async function startThrottling(scope) {
  const counts = { accepted: 0, refused: 0 };
  let [second, taken] = [0, 0];
  const url = await serve(scope, (request, response) => {
    request.resume().on('end', () => {
      const now = Math.floor(performance.now() / 1000);
      if (now !== second) [second, taken] = [now, 0];
      taken += 1;
      const isTaken = taken <= mostPerSecond;
      counts[isTaken ? 'accepted' : 'refused'] += 1;
      response.writeHead(isTaken ? 204 : 429, isTaken ? {} : { 'retry-after': '1' }).end();
    });
  });
  return { url, counts };
}

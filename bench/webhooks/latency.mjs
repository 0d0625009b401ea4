import { Agent } from 'node:http';
import { summary } from '../lib/latency.mjs';
import { formatMillis, goal, markdownTable } from '../lib/table.mjs';
import { startArrivals } from './arrivals.mjs';
import { openLoop, post } from './open-loop.mjs';
import { addEndpoint, startWorld, until } from './world.mjs';

const perSecond = 200;

/** From an incident, or a click on retry, to the receiver. */
export async function benchLatency({ scope, dir, postgres, sizes, say }) {
  const { seconds, singles, warmSeconds } = sizes.latency;
  const world = await startWorld(scope, { dir, postgres, name: 'latency' });
  const arrivals = await startArrivals(scope);
  const tenants = ['a', 'b', 'c', 'd'];
  for (const tenant of tenants) await addEndpoint(world, tenant, `${arrivals.url}/${tenant}`);
  await openLoop({ world, arrivals, tenants, perSecond, seconds: warmSeconds });
  say(`latency: ${perSecond} incidents/s for ${seconds} s`);
  const busy = summary(await openLoop({ world, arrivals, tenants, perSecond, seconds }));
  say('latency: one at a time, after idling');
  const idle = summary(await measureIdle(world, arrivals, singles));
  say('latency: retries');
  const retry = summary(await measureRetries(world, arrivals, singles));
  const row = (what, { p50, p99, max }, text, isMet) => [
    what,
    formatMillis(p50),
    formatMillis(p99),
    formatMillis(max),
    goal(text, isMet),
  ];
  const table = markdownTable(
    ['', 'p50:', 'p99:', 'worst:', 'goal'],
    [
      row(`incident sent → received, ${perSecond}/s open loop`, busy, 'p99 < 50 ms', busy.p99 < 50),
      row('incident accepted → received, idle before', idle, 'p50 < 20 ms', idle.p50 < 20),
      row('retry sent → received', retry, 'p99 < 50 ms', retry.p99 < 50),
    ],
  );
  return `### Latency\n\nOne service, receiver and client in one further process, so that one clock reads both ends. Open loop: times count from when an incident was due to be sent, not from when the client got round to it.\n\n${table}`;
}

async function measureIdle(world, arrivals, count) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = [];
  for (let n = 0; n < count; n += 1) {
    await pause(150 + (n % 7) * 30);
    const key = `idle-${n}`;
    const came = arrivals.arrivalOf(key);
    const acceptedAt = await post(world, agent, { tenant: 'a', key, number: n });
    // It may be there before the answer is.
    times.push(Math.max(0, (await came) - acceptedAt));
  }
  agent.destroy();
  return times;
}

async function measureRetries(world, arrivals, count) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times = [];
  for (let n = 0; n < count; n += 1) {
    const key = `retry-${n}`;
    arrivals.answer(() => 500);
    await post(world, agent, { tenant: 'b', key, number: n });
    await arrivals.arrivalOf(key);
    arrivals.forget(key);
    arrivals.answer(() => 204);
    const [row] = await until(async () => {
      const { data } = await world.call('GET', '/webhook/dlq?status=pending&limit=1');
      return data.length === 0 ? undefined : data;
    });
    const startedAt = performance.now();
    const came = arrivals.arrivalOf(key);
    await world.call('POST', `/webhook/dlq/${row.id}/retry`);
    times.push((await came) - startedAt);
  }
  agent.destroy();
  return times;
}

function pause(millis) {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

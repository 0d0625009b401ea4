import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startScript } from './lib/bare.mjs';
import { startProgram } from './lib/child.mjs';
import { listen } from './lib/listen.mjs';
import { summary, until } from './lib/measure.mjs';
import { postAll } from './lib/post-all.mjs';
import { treeCpuMillis } from './lib/processes.mjs';
import { runSections } from './lib/run-sections.mjs';
import { withScope } from './lib/scope.mjs';
import { formatCount, formatMillis, formatRatio, markdownTable, section } from './lib/table.mjs';
import { payloadOf } from './webhooks/payload.mjs';
import {
  openLoop,
  receivedRate,
  startArrivals,
  startDrainer,
  startReceiverProcess,
  startWorld,
} from './webhooks/world.mjs';

const folder = fileURLToPath(new URL('peers/', import.meta.url));
const script = join(folder, 'queue.mjs');
const clients = 32;
const perSecond = 150;
const tenant = 'tenant';

/**
 * The same incidents through the service and through job queues of npm, each with the few lines around it that deliver
 * webhooks. Their packages are installed in a folder of their own, when this bench runs first.
 */
export async function runBench(options) {
  if (!existsSync(join(folder, 'node_modules'))) {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });
  }
  const sizes = {
    smallest: { incidents: 60, seconds: 1 },
    quick: { incidents: 2_000, seconds: 5 },
    standard: { incidents: 20_000, seconds: 20 },
    full: { incidents: 20_000, seconds: 60 },
  };
  return runSections({ name: 'peers', sections: { queues: benchQueues }, sizes }, options);
}

const kept = 'every attempt, with what was answered';
const sides = {
  svcctl: { start: startOurs, isDurable: 'yes', kept },
  'pg-boss': { start: startOnPostgres, isDurable: 'yes', kept: 'the last state of a job' },
  'graphile-worker': { start: startOnPostgres, isDurable: 'yes', kept: 'nothing once it is done' },
  BullMQ: { start: startOnRedis, isDurable: 'to a second', kept: 'the last state of a job' },
};

async function benchQueues({ sizes, say, ...bench }) {
  const rows = [];
  const missing = [];
  for (const [name, { start, isDurable, kept: history }] of Object.entries(sides)) {
    if (name === 'BullMQ' && !hasRedis()) {
      missing.push('There is no redis-server here, so BullMQ was left out.');
      continue;
    }
    say(name);
    const found = await withScope(bench.scope, (scope) =>
      measure({ ...bench, scope }, { name, start, sizes }),
    );
    const { accepted, delivered, cpuMillis, latency } = found;
    rows.push([
      ...[name, formatCount(accepted), formatCount(delivered), formatRatio(cpuMillis)],
      ...[formatMillis(latency.p50), formatMillis(latency.p99), isDurable, history],
    ]);
  }
  const titles = ['', 'accepted/s:', 'delivered/s:', 'CPU ms each:', 'p50:', 'p99:'];
  return section(
    `${formatCount(sizes.incidents)} incidents through job queues`,
    [
      `Of 450 bytes, from ${clients} clients to a process that accepts, while nothing works; then another process delivers them to one receiver, 64 at a time and signed. CPU is that of both processes and of the database. p50 and p99 are from when an incident was due to be sent, at ${perSecond}/s, to its arrival, while both work. Durable: whether what was accepted survives a power cut.`,
      ...missing,
    ].join(' '),
    markdownTable([...titles, 'durable', 'kept of each'], rows),
  );
}

/** One side: how fast it accepts and delivers, with what CPU time, and how soon at a steady rate. */
async function measure(bench, { name, start, sizes }) {
  const { scope } = bench;
  const receiver = await startReceiverProcess(scope);
  const arrivals = await startArrivals(scope);
  const side = await start(bench, name);
  const found = await withScope(scope, async (own) => {
    const accepting = await side.open(own, 'bulk', receiver.url);
    const bodies = Array.from({ length: sizes.incidents }, (_, number) =>
      JSON.stringify({ tenant, ...payloadOf(number), timestamp: undefined }),
    );
    const before = side.cpuMillis([accepting.pid]);
    const load = { path: '/api/v1/incidents', bodies, clients, answer: '{"id":"inc_' };
    const { perSecond: accepted } = await postAll(accepting, load);
    const working = await side.work(own, 'bulk', receiver.url);
    await until(async () => {
      await delay(100);
      return (await receiver.stats()).count >= sizes.incidents || undefined;
    });
    await delay(1000);
    const cpu = side.cpuMillis([accepting.pid, working.pid]) - before;
    const delivered = receivedRate(await receiver.stats(), sizes.incidents);
    return { accepted, delivered, cpuMillis: cpu / sizes.incidents };
  });
  const times = await withScope(scope, async (own) => {
    const world = await side.open(own, 'steady', arrivals.url);
    await side.work(own, 'steady', arrivals.url);
    const at = { world, arrivals, tenants: [tenant], perSecond };
    await openLoop({ ...at, seconds: 1 });
    return openLoop({ ...at, seconds: sizes.seconds });
  });
  return { ...found, latency: summary(times) };
}

/** CPU time of processes, and of the database's tree. */
const cpuOf = (databasePid) => (pids) =>
  [databasePid, ...pids].reduce((sum, pid) => sum + treeCpuMillis(pid), 0);

async function startOurs(bench) {
  const { scope, dir, postgres } = bench;
  const worlds = new Map();
  return {
    cpuMillis: cpuOf(postgres.pid()),
    async open(_own, name, receiverUrl) {
      const world = await startWorld({ ...bench, scope }, `peers-${name}`, 'api');
      await world.addEndpoint(tenant, receiverUrl);
      worlds.set(name, world);
      return world;
    },
    work(own, name) {
      const { databaseUrl, token } = worlds.get(name);
      return startDrainer(own, { dir, name: `drainer-${name}`, databaseUrl, token });
    },
  };
}

async function startOnPostgres({ scope, postgres }, queue) {
  const urls = new Map();
  return {
    cpuMillis: cpuOf(postgres.pid()),
    async open(own, name, receiverUrl) {
      const database = `peers_${queue.replace('-', '_')}_${name}`;
      urls.set(name, await postgres.createDatabase(scope, database, { isEmpty: true }));
      return startScript(own, [script, queue, 'accept', urls.get(name), receiverUrl]);
    },
    work: (own, name, receiverUrl) =>
      startScript(own, [script, queue, 'work', urls.get(name), receiverUrl]),
  };
}

async function startOnRedis({ scope, dir }, queue) {
  const free = createServer();
  const port = new URL((await listen(free)).replace('http:', 'redis:')).port;
  await new Promise((resolve) => free.close(resolve));
  const settings = ['--port', port, '--dir', dir, '--appendonly', 'yes', '--save', ''];
  const redis = startProgram(scope, 'redis-server', [...settings, '--bind', '127.0.0.1']);
  await until(async () => /Ready to accept/.test(redis.output()) || undefined, 10_000);
  const url = `redis://127.0.0.1:${port}`;
  return {
    cpuMillis: cpuOf(redis.pid),
    open: (own, _name, receiverUrl) =>
      startScript(own, [script, queue, 'accept', url, receiverUrl]),
    work: (own, _name, receiverUrl) => startScript(own, [script, queue, 'work', url, receiverUrl]),
  };
}

function hasRedis() {
  try {
    execFileSync('redis-server', ['--version']);
    return true;
  } catch {
    return false;
  }
}

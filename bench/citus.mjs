import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient, exportSlice, ingestFile, runRetention } from './lib/client.mjs';
import { inTurn, mapValues, median, until } from './lib/measure.mjs';
import { postAll } from './lib/post-all.mjs';
import { connect, recordTables, startPostgres, withClient } from './lib/postgres.mjs';
import { treeCpuMillis } from './lib/processes.mjs';
import { startEmbeddedPostgres } from './lib/product.mjs';
import { runSections } from './lib/run-sections.mjs';
import { withScope } from './lib/scope.mjs';
import { coldSettings, startService, writeFlights } from './lib/service.mjs';
import { formatCount, formatMillis, formatRatio, markdownTable, section } from './lib/table.mjs';
import { payloadOf } from './webhooks/payload.mjs';
import {
  addEndpoint,
  receivedRate,
  sendingSettings,
  settle,
  startDrainer,
  startReceiverProcess,
} from './webhooks/world.mjs';

const tenant = 'TX';
const sections = { records: benchRecords, deliveries: benchDeliveries };

/** How much each kind of run measures. `rounds`: how often the two sides take turns after a first one that does not count. */
const sizes = {
  smallest: { flights: 5000, singles: 10, requests: 3, deliveries: 200, rounds: 0 },
  quick: { flights: 20_000, singles: 100, requests: 30, deliveries: 2000, rounds: 1 },
  standard: { flights: 20_000, singles: 200, requests: 60, deliveries: 3000, rounds: 3 },
  full: { flights: 50_000, singles: 400, requests: 100, deliveries: 6000, rounds: 3 },
};

/** The same service on one PostgreSQL, and on a Citus cluster of the same programs on the same machine. */
export async function runBench(options) {
  const found = await findCitus();
  if (typeof found === 'string') {
    process.stderr.write(`nothing to measure: ${found}\n`);
    return [];
  }
  const startServer = (scope, dir) => startPostgres(scope, dir, found);
  const start = (bench) => startWorld({ ...bench, ...found });
  return runSections({ name: 'citus', sections, sizes, start, startServer }, options);
}

const pgConfig = process.env.PG_CONFIG ?? 'pg_config';

/** The folder of a PostgreSQL with Citus, which pg_config (or PG_CONFIG) names; a text that says what is missing. */
async function findCitus() {
  const ask = async (option) => (await promisify(execFile)(pgConfig, [option])).stdout.trim();
  try {
    const [binDir, shareDir] = [await ask('--bindir'), await ask('--sharedir')];
    const control = join(shareDir, 'extension', 'citus.control');
    return existsSync(control) ? { binDir } : `there is no Citus: ${control} does not exist`;
  } catch (error) {
    return `there is no Citus: ${pgConfig} does not run (${error.message})`;
  }
}

/** Starts a coordinator and two workers, which trust every connection of this machine. */
async function startCluster(scope, { dir, binDir }) {
  const trust = join(dir, 'pg_hba.conf');
  mkdirSync(dir, { recursive: true });
  writeFileSync(trust, 'host all all 127.0.0.1/32 trust\n');
  const settings = {
    hba_file: trust,
    shared_preload_libraries: 'citus',
    wal_level: 'logical',
    max_connections: '300',
    max_worker_processes: '100',
    'citus.shard_count': '8',
    ssl: 'off',
    'citus.node_conninfo': 'sslmode=disable',
    'citus.enable_statistics_collection': 'off',
  };
  const nodes = [];
  for (const name of ['coordinator', 'worker-1', 'worker-2']) {
    const dataDir = join(dir, name);
    const node = await startEmbeddedPostgres({ dataDir, binDir, settings, log: () => {} });
    scope.defer(() => node.stop());
    await withClient(node.url, (client) => client.query('create extension citus'));
    nodes.push({ url: node.url, dataDir });
  }
  const [coordinator, ...workers] = nodes.map(({ url }) => url);
  await withClient(coordinator, async (client) => {
    await client.query(
      `select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator).port})`,
    );
    for (const worker of workers) {
      await client.query(`select citus_add_node('127.0.0.1', ${new URL(worker).port})`);
    }
  });
  return { url: coordinator, dataDirs: nodes.map(({ dataDir }) => dataDir) };
}

/** A service on one server and one on a cluster, each with what measures the CPU time of its servers. */
async function startWorld({ scope, dir, postgres, binDir, say }) {
  say('starting a cluster');
  const cluster = await startCluster(scope, { dir: join(dir, 'citus'), binDir });
  const plain = {
    url: await postgres.createDatabase(scope, 'bench_citus'),
    dataDirs: [join(dir, 'server')],
  };
  const settings = { ...sendingSettings, ...coldSettings, SVC_ROLES: 'api,retention,exports' };
  const sides = [];
  for (const [name, { url, dataDirs }] of Object.entries({ plain, citus: cluster })) {
    const service = await startService(scope, { dir, name, databaseUrl: url, settings });
    const pids = dataDirs.map(readPid);
    const cpuMillis = () => pids.reduce((sum, pid) => sum + treeCpuMillis(pid), 0);
    const db = await connect(scope, url);
    const client = createClient(scope, service);
    sides.push({ name, databaseUrl: url, service, db, cpuMillis, client });
  }
  return { sides };
}

function readPid(dataDir) {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Runs `work`, which answers how many units it did; the wall time and PostgreSQL's CPU time of it. */
async function measure({ cpuMillis }, work) {
  const cpuBefore = cpuMillis();
  const startedAt = performance.now();
  const units = await work();
  const elapsedMillis = performance.now() - startedAt;
  return { perSecond: (units / elapsedMillis) * 1000, cpu: (cpuMillis() - cpuBefore) / units };
}

const formatCpu = (millis) =>
  millis < 1 ? `${(millis * 1000).toFixed(0)} µs` : formatMillis(millis);

const paths = {
  'page of 100 of a tenant': `/api/v1/enrichment/records?tenant=${tenant}&month=2001-02&limit=100`,
  'page of 100 over all tenants': '/api/v1/enrichment/records?limit=100',
  'tree, all tenants': '/api/v1/enrichment/datasets?level=tenant&limit=100',
  'tree, months of a tenant': `/api/v1/enrichment/datasets?tenant=${tenant}&limit=100`,
};

/** What a server does with records, and a cluster with the same. */
async function benchRecords({ dir, sides, sizes, say }) {
  const path = join(dir, 'citus.ndjson');
  const flights = await writeFlights(path, sizes.flights);
  const ofOne = join(dir, 'citus-one.ndjson');
  await writeFlights(ofOne, sizes.flights, { only: tenant });
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, sizes.singles);
  const runs = new Map();
  const keep = (name, side, run) => {
    const kept = runs.get(name) ?? { plain: [], citus: [] };
    kept[side.name].push(run);
    runs.set(name, kept);
  };
  for (let round = 0; round <= sizes.rounds; round += 1) {
    for (const side of sides) {
      say(`records: ${side.name}, round ${round} of ${sizes.rounds}`);
      // In the first one months are made and connections opened.
      const isCounted = round > 0 || sizes.rounds === 0;
      const note = (name, run) => isCounted && keep(name, side, run);
      await measureRound(side, { path, ofOne, lines, sizes, round, note });
    }
  }
  return reportRecords(runs, { flights, sizes });
}

async function measureRound(side, { path, ofOne, lines, sizes, round, note }) {
  const { client, db, service } = side;
  for (const [name, file] of [
    ['NDJSON of one tenant, records', ofOne],
    ['NDJSON of all tenants in turn, records', path],
  ]) {
    // Leaves nothing of what was before.
    await db.query(
      `truncate ${recordTables}, segments, segment_days, moves, move_days, move_segments, object_removals`,
    );
    note(name, await measure(side, async () => (await ingestFile(client, file)).accepted));
  }
  await db.query('vacuum (analyze) enrichment_records');
  for (const [name, asked] of Object.entries(paths)) {
    const millis = [];
    const run = await measure(side, async () => {
      for (let n = 0; n < sizes.requests; n += 1) {
        millis.push((await client.get(asked)).elapsedMillis);
      }
      return sizes.requests;
    });
    note(name, { ...run, p50: median(millis) });
  }
  const exported = await measure(side, async () => (await exportSlice(client, { tenant })).rows);
  note('CSV, rows', exported);
  const moved = await measure(side, async () => (await runRetention(side)).moved_count);
  note('moved to the cold tier, records', moved);
  for (const clients of [1, 16]) {
    const bodies = lines.map(
      (line) =>
        `{"records":[${line.replace('"fl-', `"s${round}-${clients}-`).replace('2001', '2002')}]}`,
    );
    const load = { path: '/api/v1/enrichment/records', answer: '{"accepted":1' };
    let sent;
    const run = await measure(side, async () => {
      sent = await postAll(service, { ...load, bodies, clients });
      return bodies.length;
    });
    const unit = clients === 1 ? 'single records, one client' : 'single records, 16 clients';
    note(unit, { ...run, p50: median(sent.millis) });
  }
}

function reportRecords(runs, { flights, sizes }) {
  const rows = [...runs].map(([name, sides]) => {
    const isTimed = sides.plain[0].p50 !== undefined;
    const value = mapValues(sides, (side) =>
      median(side.map((run) => (isTimed ? run.p50 : run.perSecond))),
    );
    const cpu = mapValues(sides, (side) => median(side.map((run) => run.cpu)));
    const shown = (found) => (isTimed ? formatMillis(found) : `${formatCount(found)}/s`);
    return [
      `${name}${isTimed ? ', p50' : ''}`,
      ...[shown(value.plain), shown(value.citus), formatRatio(value.citus / value.plain)],
      ...[formatCpu(cpu.plain), formatCpu(cpu.citus)],
    ];
  });
  return section(
    `Records: ${formatCount(flights)} flights`,
    `One server against a coordinator and two workers of the same programs, all on this machine, so that a cluster has no more cores than the one server. ${Math.max(1, sizes.rounds)} rounds each, in turn; medians. CPU is that of all servers of a side for one record, request or row.`,
    markdownTable(['', 'one server:', 'Citus:', 'ratio:', 'CPU, one server:', 'CPU, Citus:'], rows),
  );
}

const endpoints = 4;

/** Incidents that are reported and then delivered. Their tables are the coordinator's alone. */
async function benchDeliveries({ scope, dir, sides, sizes, say }) {
  const receiver = await startReceiverProcess(scope);
  for (const { service } of sides) {
    for (let n = 0; n < endpoints; n += 1) {
      await addEndpoint(service, `tenant-${n}`, `${receiver.url}/${n}`);
    }
  }
  const ofSides = Object.fromEntries(sides.map((side) => [side.name, side]));
  const ways = mapValues(ofSides, (side) => async (round) => {
    await side.db.query('truncate deliveries, delivery_attempts, incidents');
    const reported = await measure(side, () => report(side, sizes.deliveries));
    await settle(side.db);
    await receiver.reset();
    const name = `${side.name}-drainer-${round}`;
    const delivered = await deliver({ scope, dir, name, side, receiver, sizes });
    return { reported, ...delivered };
  });
  const runs = await inTurn(ways, Math.max(1, sizes.rounds), {
    onRound: (round) => say(`deliveries: round ${round + 1}`),
  });
  const row = (title, pick, format) => {
    const { plain, citus } = mapValues(runs, (of) => median(of.map(pick)));
    return [title, format(plain), format(citus), formatRatio(citus / plain)];
  };
  return section(
    `Deliveries: ${formatCount(sizes.deliveries)} incidents, ${endpoints} endpoints`,
    'Reported one by one, then sent by a drainer to a receiver on this machine. Their tables are those of the coordinator alone.',
    markdownTable(
      ['', 'one server:', 'Citus:', 'ratio:'],
      [
        row('incidents/s, 16 clients', ({ reported }) => reported.perSecond, formatCount),
        row('CPU of PostgreSQL for an incident', ({ reported }) => reported.cpu, formatCpu),
        row('deliveries/s', ({ perSecond }) => perSecond, formatCount),
        row('CPU of PostgreSQL for a delivery', ({ cpu }) => cpu, formatCpu),
        row('CPU of the drainer for it, its start included', ({ ownCpu }) => ownCpu, formatCpu),
      ],
    ),
  );
}

async function report({ service }, count) {
  const bodies = Array.from({ length: count }, (_, n) => {
    const { type, data } = payloadOf(n);
    return JSON.stringify({ tenant: `tenant-${n % endpoints}`, type, data });
  });
  await postAll(service, { path: '/api/v1/incidents', bodies, clients: 16, answer: '' });
  return count;
}

function deliver({ scope, dir, name, side, receiver, sizes }) {
  return withScope(scope, async (own) => {
    const { databaseUrl, service } = side;
    const drainer = await startDrainer(own, { dir, name, databaseUrl, token: service.token });
    const { cpu } = await measure(side, async () => {
      await until(async () => (await receiver.stats()).count >= sizes.deliveries || undefined);
      return sizes.deliveries;
    });
    const perSecond = receivedRate(await receiver.stats(), sizes.deliveries);
    return { perSecond, cpu, ownCpu: treeCpuMillis(drainer.pid) / sizes.deliveries };
  });
}

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { call, createClient, runExportJob, runRetention } from './lib/client.mjs';
import { serve } from './lib/listen.mjs';
import { until } from './lib/measure.mjs';
import { startPostgres } from './lib/postgres.mjs';
import { makeTempDir, runInScope } from './lib/scope.mjs';
import { coldSettings, startService } from './lib/service.mjs';
import { formatCount, goal, markdownTable, none, replaceBetweenMarkers } from './lib/table.mjs';

const dist = new URL('../packages/server/dist/', import.meta.url);
const architecture = fileURLToPath(new URL('../ARCHITECTURE.md', import.meta.url));
const counter = new URL('ways/count-calls.mjs', import.meta.url).href;
const tenant = 'acme';
const coldMonth = '2001-03';

/** What a service does between two requests: long enough for all that repeats to come by. */
const idleMillis = { smallest: 2_000, quick: 20_000, standard: 65_000, full: 65_000 };

/**
 * How many files and functions of the service each way through it enters, without those that an idle service runs, and
 * without what modules do that are loaded meanwhile: counted in a service that went each way once before. What DuckDB's
 * own processes run is not counted. A whole run writes the table into ARCHITECTURE.md; one of chosen ways prints what
 * they enter.
 */
export async function runBench({ size, only }) {
  const chosen = ways.filter(({ name }) => only.length === 0 || only.includes(name));
  await runInScope(async (scope) => {
    const dir = makeTempDir(scope);
    const postgres = await startPostgres(scope, dir);
    const world = await startWorld(scope, dir, postgres);
    for (const { prepare, go } of ways) {
      await prepare?.(world);
      await go(world);
    }
    await world.takeCalls();
    await delay(idleMillis[size]);
    const idle = new Set((await world.takeCalls()).map(({ place }) => place));
    const rows = [];
    for (const { what, most, prepare, go } of chosen) {
      await prepare?.(world);
      await world.takeCalls();
      await go(world);
      const called = (await world.takeCalls()).filter(({ place }) => !idle.has(place));
      const byFile = groupByFile(called);
      rows.push([
        what,
        ...countCells(byFile.size, most.files),
        ...countCells(called.length, most.functions),
      ]);
      if (only.length > 0) print(byFile);
    }
    const text = markdownTable(['way', 'files:', 'goal', 'functions:', 'goal'], rows);
    process.stdout.write(`### Ways\n\n${text}\n`);
    const isTrial = size === 'quick' || size === 'smallest' || only.length > 0;
    if (!isTrial) replaceBetweenMarkers(architecture, 'bench:ways', text);
  });
}

const countCells = (count, most) => [
  formatCount(count),
  most === undefined ? none : goal(`≤ ${most}`, count),
];

function groupByFile(called) {
  const byFile = new Map();
  for (const { file, name } of called) byFile.set(file, [...(byFile.get(file) ?? []), name]);
  return byFile;
}

function print(byFile) {
  for (const [file, names] of [...byFile].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    process.stdout.write(`${file}: ${names.map((name) => name || '…').join(', ')}\n`);
  }
}

const ways = [
  {
    name: 'ingest',
    what: 'a record is ingested',
    most: { files: 30, functions: 150 },
    go: (world) => post(world, record(world, new Date())),
  },
  {
    name: 'job',
    what: 'an export job runs',
    most: { files: 50 },
    go: (world) => runExportJob(world, 'csv', { tenant }),
  },
  {
    name: 'move',
    what: 'days move to a segment',
    most: { files: 60 },
    prepare: makeOldDay,
    go: (world) => runRetention(world),
  },
  {
    name: 'page',
    what: 'a page of cold records is read',
    most: { files: 40 },
    go: ({ client }) =>
      client.get(`/api/v1/enrichment/records?tenant=${tenant}&month=${coldMonth}&limit=100`),
  },
  { name: 'webhook', what: 'a webhook is delivered', most: {}, go: deliver },
];

async function startWorld(scope, dir, postgres) {
  const databaseUrl = await postgres.createDatabase(scope, 'bench_ways');
  let onCalls;
  const service = await startService(scope, {
    dir,
    name: 'ways',
    databaseUrl,
    settings: { ...coldSettings, SVC_ALLOW_TARGETS: '127.0.0.0/8' },
    // Its modules as they are written, not the one file that the build makes of them.
    program: ['--import', counter, fileURLToPath(new URL('cli/main.js', dist))],
    onMessage: (calls) => onCalls(calls),
  });
  const url = await serve(scope, (request, response) => {
    request.resume().on('end', () => response.writeHead(204).end());
  });
  await call(service, 'POST', '/webhook/endpoints', { tenant, url });
  return {
    service,
    client: createClient(scope, service),
    made: 0,
    /** The functions called since the last time. */
    async takeCalls() {
      const calls = new Promise((resolve) => {
        onCalls = resolve;
      });
      service.send('take');
      const isOurs = ({ url, startOffset }) => url.startsWith(dist.href) && startOffset > 0;
      return (await calls).filter(isOurs).map(({ url, name, startOffset }) => {
        const file = url.slice(dist.href.length);
        return { file, name, place: `${file}:${startOffset}` };
      });
    },
  };
}

function record(world, occurredAt) {
  world.made += 1;
  return {
    event_id: `evt-${world.made}`,
    tenant,
    store: 'berlin',
    kind: 'enrichment',
    occurred_at: occurredAt.toISOString(),
    source: 'bench',
    model: 'none',
    confidence: 0.5,
    enrichment: { made: world.made },
  };
}

const post = ({ service }, made) =>
  call(service, 'POST', '/enrichment/records', { records: [made] });

/** A day of records for each move. */
async function makeOldDay(world) {
  await post(world, record(world, new Date(Date.UTC(2001, 2, 1 + (world.made % 28)))));
}

async function deliver({ service, client, made }) {
  const incident = { tenant, type: 'bench.way', data: { made } };
  const { id } = await call(service, 'POST', '/incidents', incident);
  await until(async () => {
    const { body } = await client.get(`/api/v1/incidents/${id}`);
    return body.deliveries.every(({ status }) => status === 'delivered') || undefined;
  });
}

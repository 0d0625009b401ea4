import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createClient,
  exportSlice,
  ingestFile,
  pagesOf,
  runRetention,
  verify,
} from './lib/client.mjs';
import { inTurn, mapValues, median, timed } from './lib/measure.mjs';
import { connect } from './lib/postgres.mjs';
import { residentBytes, watchTree } from './lib/processes.mjs';
import { runSections } from './lib/run-sections.mjs';
import { openScope, withScope } from './lib/scope.mjs';
import { coldSettings, startService } from './lib/service.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatSeconds,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';
import { compareTimes, place } from './scale/compare.mjs';
import { generateWorld } from './scale/generate.mjs';
import { tenantName } from './scale/shape.mjs';
import { benchBackup, benchFind, benchTasks } from './scale/tasks.mjs';

const sections = {
  made: benchMade,
  reading: benchReading,
  find: benchFind,
  exports: benchExports,
  verify: benchVerify,
  backup: benchBackup,
  tasks: benchTasks,
  // Last: it changes the worlds.
  day: benchDay,
};

/**
 * How much each kind of run makes and measures. `base`: the records of the small world that the large one is compared
 * with. `perDay`: the records of a store's day, of which each tenant has 240. `verified`: the percentage of the large world that is
 * verified. `--records` replaces `records`.
 */
const whole = { base: 1_000_000, perDay: 210, requests: 300, tasks: 50, exports: 9, verified: 1 };
const sizes = {
  smallest: {
    base: 12_000,
    records: 14_000,
    perDay: 5,
    requests: 3,
    tasks: 2,
    exports: 1,
    verified: 50,
  },
  quick: {
    base: 240_000,
    records: 1_000_000,
    perDay: 50,
    requests: 40,
    tasks: 6,
    exports: 3,
    verified: 10,
  },
  standard: { ...whole, records: 10_000_000 },
  full: { ...whole, records: 1_000_000_000 },
};

/** The same product with a million and with a billion records: what grows, and what does not. */
export const runBench = (options) =>
  runSections({ name: 'scale', sections, sizes, start: startWorlds }, options);

/** How long a service rests before its memory is read. */
const restMillis = 5000;

/** A small and a large world of the same shape on one PostgreSQL. Both are made before a service starts on either. */
async function startWorlds(bench) {
  const { sizes } = bench;
  const make = (name, records) => makeWorld(bench, { name, records, perDay: sizes.perDay });
  const made = [await make('small', sizes.base), await make('large', sizes.records)];
  const [small, large] = [
    await startWorld(bench.scope, made[0]),
    await startWorld(bench.scope, made[1]),
  ];
  return { small, large };
}

async function makeWorld({ scope, dir, postgres, say }, { name, records, perDay }) {
  const databaseUrl = await postgres.createDatabase(scope, `bench_scale_${name}`);
  const options = { dir, name: `scale-${name}`, databaseUrl, settings: coldSettings };
  const coldDir = join(dir, options.name, 'cold');
  const [madeMillis, made] = await timed(async () => {
    // The first start makes the tables, the token and the mark of the store.
    await withScope(scope, (own) => startService(own, options));
    return withScope(scope, async (own) => {
      const db = await connect(own, databaseUrl);
      return generateWorld({ scope: own, dir, db, coldDir, records, perDay, say });
    });
  });
  return { ...made, madeMillis, options };
}

async function startWorld(scope, { options, ...made }) {
  const db = await connect(scope, options.databaseUrl);
  const { rows } = await db.query('select pg_database_size(current_database())::float8 as bytes');
  const own = openScope();
  scope.defer(own.close);
  const [startMillis, service] = await timed(() => startService(own, options));
  await delay(restMillis);
  const idleBytes = residentBytes(service.pid);
  const client = createClient(scope, service);
  return {
    ...{ ...made, options, startMillis, idleBytes, databaseBytes: rows[0].bytes },
    ...{ service, client, stop: own.close },
  };
}

/**
 * A table of figures of the small and of the large world: title, name of the figure, how it is shown, and how many
 * times as much the large one may have, which is no goal where it is left out.
 */
function compareWorlds(small, large, figures) {
  const rows = figures.map(([title, name, format, most]) => [
    ...[title, format(small[name]), format(large[name])],
    ...(most === undefined ? [none, none] : ratioCells(large[name] / small[name], `≤ ${most}`)),
  ]);
  return markdownTable(['', 'small:', 'large:', 'ratio:', 'goal'], rows);
}

/** What the worlds are, and what a service costs that only stands there. */
async function benchMade(worlds) {
  const [small, large] = [worlds.small, worlds.large].map((world) => ({
    ...world,
    leaves: world.tenants * 120,
  }));
  return section(
    `A cold tier of ${formatCount(large.records)} records`,
    'Made up: tenants with two stores, sixty months and a segment for each year, with true counters and digests; DuckDB writes the segments in our layout. Beside it a small one of the same shape, in a database of its own on the same PostgreSQL; all ratios below are of the large one to the small one.',
    compareWorlds(small, large, [
      ['records', 'records', formatCount],
      ['tenants', 'tenants', formatCount],
      ['leaves', 'leaves', formatCount],
      ['segments', 'segments', formatCount],
      ['bytes of the segments', 'storedBytes', formatMiB],
      ['bytes of the database', 'databaseBytes', formatMiB],
      ['made in', 'madeMillis', formatSeconds],
      ['start of the service', 'startMillis', formatSeconds, 1.3],
      ['memory of the resting service', 'idleBytes', formatMiB, 1.3],
    ]),
  );
}

const datasets = '/api/v1/enrichment/datasets';
const records = '/api/v1/enrichment/records';

/**
 * What is asked for. `tenant` is another one for each request, spread over all of them.
 *
 * @type {[string, (place: { tenant: string, month: string }) => string][]}
 */
const cases = [
  // The smallest world has ten tenants: pages of both have as many rows.
  ['tenants', () => `${datasets}?level=tenant&limit=10`],
  ['tenants of a month', () => `${datasets}?level=tenant&month=2023-05&limit=10`],
  ['tenants by prefix', ({ tenant }) => `${datasets}?level=tenant&q=${tenant.slice(0, -1)}`],
  ['stores of a tenant', ({ tenant }) => `${datasets}?level=store&tenant=${tenant}`],
  ['months of a tenant', ({ tenant }) => `${datasets}?tenant=${tenant}`],
  ['leaves of a store of all tenants', () => `${datasets}?store=store-2`],
  ['months with days', ({ tenant }) => `${datasets}?tenant=${tenant}&include=days`],
  [
    'records: first page of a leaf',
    ({ tenant, month }) => `${records}?tenant=${tenant}&store=store-1&month=${month}`,
  ],
  ['records: first page of a tenant', ({ tenant }) => `${records}?tenant=${tenant}`],
  ['records: last page of a tenant', ({ tenant }) => `${records}?tenant=${tenant}&order=desc`],
  [
    'records: last page of the largest tenant',
    () => `${records}?tenant=${tenantName(0)}&order=desc`,
  ],
];

/** The tree and pages, request by request in turn of both worlds. */
async function benchReading({ small, large, sizes }) {
  /** @type {Parameters<typeof compareTimes>[1]} */
  const asking = cases.map(([title, path]) => [
    title,
    async (world, i) => (await world.client.get(path(place(world, i)))).elapsedMillis,
  ]);
  return section(
    `Reading ${formatCount(large.records)} records`,
    `${sizes.requests} requests each, in turn, pages of 100 (of tenants 10, since the small world has no more). Tenants are spread over all there are, so that most pages of the large world open a segment that was never opened before.`,
    await compareTimes({ small, large }, asking, sizes.requests),
  );
}

const quarter = { tenant: tenantName(0), from: '2023-01-01', to: '2023-03-31' };

/** The CSV of the largest tenant's quarter, in turn of both worlds, in which it is the same. */
async function benchExports({ small, large, sizes }) {
  let count = 0;
  const exporting = mapValues({ small, large }, ({ client }) => async () => {
    const [millis, { rows }] = await timed(() => exportSlice(client, quarter));
    if (count !== 0 && count !== rows) throw new Error(`${rows} rows instead of ${count}`);
    count = rows;
    return millis;
  });
  const times = await inTurn(exporting, sizes.exports, { warmups: 1 });
  const millis = mapValues(times, median);
  const perSecond = [millis.small, millis.large].map((of) => formatCount((count / of) * 1000));
  return section(
    `Exporting a quarter of ${formatCount(count)} rows`,
    'CSV, all columns, drained by the client; the same tenant in both worlds, in turn.',
    markdownTable(
      ['', 'small:', 'large:', 'ratio:', 'goal'],
      [
        ['rows/s', ...perSecond, ...ratioCells(millis.small / millis.large, '≥ 0.9')],
        ['milliseconds', formatMillis(millis.small), formatMillis(millis.large), none, none],
      ],
    ),
  );
}

/** A sample of the large world, and all of the small one: objects read back, digests computed, counters compared. */
async function benchVerify({ small, large, sizes, say }) {
  const rows = [];
  for (const [name, world, percent] of [
    ['small, all', small, 100],
    [`large, ${sizes.verified} %`, large, sizes.verified],
  ]) {
    say(`verifying ${percent} % of ${formatCount(world.records)} records`);
    const request = percent < 100 ? { sample_percent: percent } : {};
    const memory = await watchTree(world.service.pid, () => timed(() => verify(world, request)));
    const [millis, { segments_done: segments, records_done: records }] = memory.result;
    rows.push([
      ...[name, formatSeconds(millis), formatCount(segments), formatCount(records)],
      formatCount((records / millis) * 1000),
      formatMiB(memory.peakBytes),
    ]);
  }
  return section(
    'Verifying',
    '`svcctl retention verify`, with `--sample` for the large world. Memory is that of the service and its DuckDB.',
    markdownTable(['', 'time:', 'segments:', 'records:', 'records/s:', 'memory:'], rows),
  );
}

/** A day of which the worlds hold nothing yet. */
const day = '2026-01-15';
/** The days over which the made-up records would be spread evenly. */
const daysInAll = 5 * 365.25;

/** So many tenants have records that day. Each costs a move of its own: with all of them a run would take much longer. */
const mostTenants = 5000;

/** A day's records: stored, planned and moved. */
async function benchDay({ scope, dir, small, large, say }) {
  const figures = [];
  for (const world of [small, large]) {
    say(`a day of ${formatCount(world.records)} records`);
    figures.push(await measureDay(scope, dir, world));
  }
  return section(
    'One day',
    `As many records as an even spread over five years would bring in a day, of at most ${formatCount(mostTenants)} tenants, in one NDJSON stream; then the plan of what is due, and a run that moves it, by a service that was started for it: so its memory is what the move takes.`,
    compareWorlds(figures[0], figures[1], [
      ['records', 'records', formatCount],
      ['tenants', 'tenants', formatCount],
      ['ingest, records/s', 'ingested', formatCount],
      ['plan, first page', 'firstPlanMillis', formatMillis],
      ['plan, all pages', 'planMillis', formatMillis],
      ['pages of the plan', 'planPages', formatCount],
      ['move', 'moveMillis', formatSeconds],
      ['move, milliseconds a tenant', 'tenantMillis', (value) => value.toFixed(1)],
      ['memory before, service and DuckDB', 'beforeBytes', formatMiB],
      ['memory while moving, service and DuckDB', 'peakBytes', formatMiB, 1.3],
    ]),
  );
}

async function measureDay(scope, dir, world) {
  const { client } = world;
  const tenants = Math.min(mostTenants, world.tenants);
  const perTenant = Math.max(1, Math.round(world.records / daysInAll / tenants));
  const path = join(dir, `day-${tenants}.ndjson`);
  await pipeline(Readable.from(lines(tenants, perTenant)), createWriteStream(path));
  const [ingestMillis, answer] = await timed(() => ingestFile(client, path));
  const records = tenants * perTenant;
  if (answer.accepted !== records) throw new Error(`${answer.accepted} of ${records} accepted`);
  const plan = '/api/v1/retention/plan';
  const [firstPlanMillis] = await timed(() => client.get(plan));
  const [planMillis, planPages] = await timed(async () => {
    let pages = 0;
    for await (const _page of pagesOf(client, `${plan}?limit=100`)) pages += 1;
    return pages;
  });
  // What ingest and the sections before have made of a process says nothing of what the move takes.
  await world.stop();
  const service = await startService(scope, world.options);
  const fresh = { service, client: createClient(scope, service) };
  await delay(restMillis);
  const memory = await watchTree(service.pid, () => timed(() => runRetention(fresh)));
  const [moveMillis, run] = memory.result;
  if (run.moved_count !== records) throw new Error(`${run.moved_count} of ${records} moved`);
  return {
    ...{ records, tenants, firstPlanMillis, planMillis, planPages, moveMillis },
    ingested: (records / ingestMillis) * 1000,
    tenantMillis: moveMillis / tenants,
    beforeBytes: memory.beforeBytes,
    peakBytes: memory.peakBytes,
  };
}

function* lines(tenants, perTenant) {
  for (let k = 0; k < perTenant; k += 1) {
    let text = '';
    for (let t = 0; t < tenants; t += 1) {
      const at = new Date(Date.parse(`${day}T00:00:00Z`) + k * 1000 + (t % 1000)).toISOString();
      const record = {
        tenant: tenantName(t),
        store: `store-${1 + (t % 2)}`,
        event_id: `day-${k}-${t}`,
        occurred_at: at,
        kind: 'intrusion',
        confidence: 0.5,
        enrichment: { score: (k * t) % 1000, zone: 'dock' },
      };
      text += `${JSON.stringify(record)}\n`;
    }
    yield text;
  }
}

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { to as copyTo } from 'pg-copy-streams';
import { createClient, drain, exportSlice, listTenants, runRetention } from './lib/client.mjs';
import { openCopy, sizeOf } from './lib/duckdb.mjs';
import { after, browse, inTurn, mapValues, median, summary, timed } from './lib/measure.mjs';
import { connect } from './lib/postgres.mjs';
import { watchTree } from './lib/processes.mjs';
import { runSections } from './lib/run-sections.mjs';
import { withScope } from './lib/scope.mjs';
import { startService, storeFlights } from './lib/service.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatRatio,
  goal,
  latencyCells,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';

const tenant = 'TX';
const dayMillis = 86_400_000;

const sections = {
  // First: the others read what it has moved.
  moving: benchMoving,
  exports: benchExports,
  pages: benchPages,
  segments: benchSegments,
};

/**
 * How much each kind of run measures. `pairs`: how often ours and the other side take turns. `smallest` only
 * shows that a section still runs; each tenant costs moves of its own, so it has three.
 */
const smallest = { flights: 12_000, pairs: 1, requests: 3, idleMillis: 100, segmentDays: 1 };
const sizes = {
  smallest: { ...smallest, tenants: ['TX', 'CA', 'AK'] },
  quick: { flights: 200_000, pairs: 1, requests: 40, idleMillis: 3000, segmentDays: 6 },
  standard: { flights: 3_000_000, pairs: 5, requests: 300, idleMillis: 20_000, segmentDays: 15 },
  full: { flights: 3_000_000, pairs: 9, requests: 1000, idleMillis: 30_000, segmentDays: 60 },
};

/**
 * The cold tier: what moving costs, and reading cold data against PostgreSQL and DuckDB, on the flights
 * of the demo.
 */
export const runBench = ({ size, only }) =>
  runSections(
    { name: 'retention', sections, sizes, start: startWorld },
    { size, only: only.length === 0 ? only : ['moving', ...only] },
  );

/** The columns as PostgreSQL itself writes them, in the order of reading. */
const orderedQuery = `select tenant, store, to_char(occurred_at, 'YYYY-MM') as month, event_id,
  occurred_at, recorded_at, kind, source, model, confidence, bytes, null::text as datasets, enrichment
  from enrichment_records where tenant = '${tenant}'
  order by tenant, store, occurred_at, event_id`;

/** A service with the flights, all hot, and how fast a bare ordered COPY reads one tenant of them. */
async function startWorld(bench) {
  const { scope, sizes, say } = bench;
  const { flights: limit, tenants } = sizes;
  const { options, flights, coldDir } = await storeFlights(bench, 'retention', { limit, tenants });
  const service = await startService(scope, options);
  say('timing bare ordered COPY TO');
  const hotCopies = await withScope(scope, async (own) => {
    const db = await connect(own, options.databaseUrl);
    const copy = async () => {
      const copying = db.query(
        copyTo(`copy (${orderedQuery}) to stdout (format csv, header true)`),
      );
      const [millis] = await timed(() => drain(copying));
      return copying.rowCount / millis;
    };
    return (await inTurn({ copy }, sizes.pairs)).copy;
  });
  return { service, client: createClient(scope, service), flights, hotCopies, coldDir };
}

/** Moves everything cold, while a client browses; the same digests come out before and after. */
async function benchMoving({ scope, service, client, flights, sizes, say }) {
  const paths = [
    `/api/v1/enrichment/records?tenant=${tenant}&month=2001-03&limit=100`,
    '/api/v1/enrichment/datasets?level=tenant&limit=100',
    `/api/v1/enrichment/datasets?tenant=${tenant}&level=store&limit=100`,
  ];
  const browsers = Array.from({ length: 8 }, () => createClient(scope, service));
  const idle = await browse(browsers, paths, after(sizes.idleMillis));
  const before = await listTenants(client);
  say('moving everything cold');
  let isMoving = true;
  const memory = await watchTree(service.pid, async () => {
    const browsing = browse(browsers, paths, () => !isMoving);
    const run = await runRetention({ service, client }).finally(() => {
      isMoving = false;
    });
    return { run, busy: await browsing };
  });
  const { run, busy } = memory.result;
  const moved = await listTenants(client);
  assertUnchanged(before, moved);
  if (run.moved_count !== flights) throw new Error(`moved ${run.moved_count} of ${flights}`);
  const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
  const perSecond = run.moved_count / seconds;
  const requests = (of) => `${formatCount(of.count)} requests`;
  return section(
    `Moving ${formatCount(flights)} records of ${moved.length} tenants`,
    'Copied, read back and verified, switched; clients ask for pages and leaves meanwhile, fifty times a second. Memory is that of a fresh service and its DuckDB processes together, shared pages counted once, without PostgreSQL.',
    markdownTable(
      ['', 'value:', 'goal'],
      [
        ['records/s', formatCount(perSecond), goal('≥ 50,000', perSecond)],
        ['API p50, idle', formatMillis(idle.p50), none],
        ['API p50, while moving', formatMillis(busy.p50), none],
        [`API p99, idle, ${requests(idle)}`, formatMillis(idle.p99), none],
        [`API p99, while moving, ${requests(busy)}`, formatMillis(busy.p99), none],
        ['ratio of the p99', ...ratioCells(busy.p99 / idle.p99, '≤ 1.5')],
        memoryRow('memory, peak', memory),
      ],
    ),
  );
}

const memoryRow = (name, { peakBytes }) => [
  name,
  formatMiB(peakBytes),
  goal('< 512 MB', peakBytes),
];

function assertUnchanged(before, after) {
  const plain = (rows) =>
    JSON.stringify(rows.map(({ tier: _tier, stored_bytes: _stored, ...row }) => row));
  if (plain(before) !== plain(after)) throw new Error('the leaves changed by the move');
  if (after.some((row) => row.tier !== 'cold')) throw new Error('not all is cold');
}

/** CSV out of cold data over HTTP against PostgreSQL's COPY while it was hot, and DuckDB's own COPY. */
async function benchExports({ scope, client, service, flights, hotCopies, coldDir, ...bench }) {
  const { dir, sizes, say } = bench;
  say('comparing digests');
  await assertWhole(client);
  say(`exporting ${tenant}`);
  const exported = (await inTurn({ ours: () => exportTenant(client) }, sizes.pairs)).ours;
  say('exporting all tenants, in turn with DuckDB');
  const clients = [client, createClient(scope, service), createClient(scope, service)];
  const tenants = await listTenants(client);
  const copy = await openCsvCopy(coldDir, join(dir, 'duckdb.csv'));
  let bytes = 0;
  const ours = async () => {
    const [millis, all] = await timed(() => exportAll(clients, tenants));
    if (all.rows !== flights) throw new Error(`${all.rows} rows of ${flights}`);
    bytes = all.bytes;
    return millis;
  };
  const memory = await watchTree(service.pid, () =>
    inTurn({ ours, duckdb: () => copy.run() }, Math.min(3, sizes.pairs)),
  );
  copy.close();
  const perSecond = mapValues(memory.result, (millis) => (flights / median(millis)) * 1000);
  const cold = median(exported.map(({ rows, millis }) => rows / millis)) * 1000;
  const hot = median(hotCopies) * 1000;
  const stored = sizeOf(coldDir, (name) => name.endsWith('.parquet'));
  const rows = formatCount(exported[0].rows);
  return section(
    'CSV out of cold data',
    `All columns, in key order, no gzip, over HTTP to a client that drops the bytes. "Bare ordered COPY" was taken in the same run before the move, as PostgreSQL plans it. DuckDB writes the same columns from the same Parquet to a file (2 threads), which ours does too, into spool files, and then hashes and sends them.`,
    markdownTable(
      ['', 'rows/s:', 'ratio:', 'goal'],
      [
        [`${tenant}, ${rows} rows, ours, cold`, formatCount(cold), none, none],
        [
          `${tenant}, bare ordered \`COPY TO\`, hot`,
          formatCount(hot),
          ...ratioCells(cold / hot, '≥ 3'),
        ],
        [
          `all ${formatCount(flights)} rows, ${tenants.length} exports three at a time, ours`,
          ...[formatCount(perSecond.ours), none, none],
        ],
        [
          'all, DuckDB’s own `COPY` to a file',
          formatCount(perSecond.duckdb),
          ...ratioCells(perSecond.ours / perSecond.duckdb, '≥ 0.7'),
        ],
      ],
    ),
    markdownTable(
      ['', 'value:', 'goal'],
      [
        [
          'first byte, median',
          formatMillis(median(exported.map(({ firstMillis }) => firstMillis))),
          none,
        ],
        ['stored bytes', formatMiB(stored), none],
        ['CSV bytes', formatMiB(bytes), none],
        ['CSV ÷ stored', ...ratioCells(bytes / stored, '≥ 25')],
        memoryRow('memory, peak', memory),
      ],
    ),
  );
}

/** One tenant: how long it takes, and until the first byte. */
async function exportTenant(client) {
  const startedAt = performance.now();
  let firstMillis;
  const onChunk = () => {
    firstMillis ??= performance.now() - startedAt;
  };
  const { rows } = await exportSlice(client, { tenant }, { onChunk });
  return { rows, firstMillis, millis: performance.now() - startedAt };
}

/** What arrives is what the trailer says. */
async function assertWhole(client) {
  const hash = createHash('sha256');
  const onChunk = (chunk) => hash.update(chunk);
  const { trailer } = await exportSlice(client, { tenant }, { onChunk });
  if (trailer !== `sha-256=:${hash.digest('base64')}:`) {
    throw new Error(`${tenant}: another digest than the trailer’s`);
  }
}

async function exportAll(clients, tenants) {
  const sum = { rows: 0, bytes: 0 };
  const waiting = [...tenants];
  const work = async (client) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { rows, bytes } = await exportSlice(client, { tenant: next.tenant });
      sum.bytes += bytes;
      sum.rows += rows;
    }
  };
  await Promise.all(clients.map(work));
  return sum;
}

/** All segments, the same columns, to a file. */
function openCsvCopy(coldDir, target) {
  const time = (column) => `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
  const query = `select tenant, store, strftime(make_timestamp(epoch_us(occurred_at)), '%Y-%m') as month,
      event_id, ${time('occurred_at')} as occurred_at, ${time('recorded_at')} as recorded_at, kind, source,
      model, confidence, bytes, null as datasets, enrichment
    from read_parquet('${coldDir}/records/**/*.parquet', hive_partitioning = false)`;
  const options = `format csv, header true,
    force_quote (tenant, store, event_id, kind, source, model, enrichment)`;
  return openCopy(query, target, options);
}

/** Pages of 500 cold records: the first, the last, and any in between. */
async function benchPages({ client, sizes }) {
  const list = (query) => `/api/v1/enrichment/records?tenant=${tenant}&limit=500&${query}`;
  const cursors = await walk(client, list(''), 200);
  const kinds = {
    'first page': () => list(''),
    'last page': () => list('order=desc'),
    'pages in between': (i) => list(`cursor=${encodeURIComponent(cursors[i % cursors.length])}`),
  };
  const asking = mapValues(kinds, (path) => async (i) => {
    const { elapsedMillis, body } = await client.get(path(i));
    if (body.data.length !== 500) throw new Error(`${path(i)}: ${body.data.length} records`);
    return elapsedMillis;
  });
  const found = mapValues(await inTurn(asking, sizes.requests), summary);
  const ratio = found['last page'].p50 / found['first page'].p50;
  return section(
    `Pages of 500 cold records of ${tenant}`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        ...Object.entries(found).map(([kind, times]) => [
          kind,
          ...latencyCells(times),
          goal('p50 ≤ 25 ms', times.p50),
        ]),
        ['last ÷ first', formatRatio(ratio), none, goal('≤ 1.25', ratio)],
      ],
    ),
  );
}

async function walk(client, path, pages) {
  const cursors = [];
  let next = path;
  while (cursors.length < pages) {
    const { body } = await client.get(next);
    if (body.next_cursor === null || body.data.length < 500) break;
    cursors.push(body.next_cursor);
    next = `${path}&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
  // The last one leads to a page that may not be full.
  cursors.pop();
  return cursors;
}

/** Moves day by day, as the schedule does, and looks at what many small segments cost. */
async function benchSegments(bench) {
  const { sizes, say } = bench;
  const { tenants } = sizes;
  const limit = Math.min(sizes.flights, 600_000);
  const { options, flights } = await storeFlights(bench, 'segments', { limit, tenants });
  const service = await startService(bench.scope, options);
  const client = createClient(bench.scope, service);
  const countSegments = async () => {
    const { body } = await client.get(`/api/v1/retention/tenants?q=${tenant}`);
    return body.data[0]?.segments ?? 0;
  };
  say(`moving ${sizes.segmentDays} days, one after the other`);
  const runs = [];
  let most = 0;
  const moving = await watchTree(service.pid, async () => {
    for (let day = 1; day <= sizes.segmentDays; day += 1) {
      const before = new Date(Date.UTC(2001, 0, 1) + day * dayMillis).toISOString().slice(0, 10);
      const [millis] = await timed(() => runRetention({ service, client }, { before }));
      runs.push(millis);
      most = Math.max(most, await countSegments());
    }
  });
  const page = async () => {
    const path = `/api/v1/enrichment/records?tenant=${tenant}&month=2001-01&limit=500`;
    return (await client.get(path)).elapsedMillis;
  };
  const reading = await watchTree(service.pid, async () => {
    const times = await inTurn({ page }, sizes.requests);
    await exportSlice(client, { tenant });
    return summary(times.page);
  });
  const { p50, p99 } = reading.result;
  return section(
    'Moved day by day',
    `A run a day over ${formatCount(flights)} flights of all tenants; small segments are merged as they gather.`,
    markdownTable(
      ['', 'value:', 'goal'],
      [
        ['runs', formatCount(runs.length), none],
        ['a run, p50', formatMillis(median(runs)), none],
        [`segments of ${tenant}, at most`, formatCount(most), none],
        [`segments of ${tenant}, in the end`, formatCount(await countSegments()), none],
        ['page of 500, p50', formatMillis(p50), goal('≤ 25 ms', p50)],
        ['page of 500, p99', formatMillis(p99), none],
        memoryRow('memory while moving, peak', moving),
        memoryRow('memory while reading, peak', reading),
      ],
    ),
  );
}

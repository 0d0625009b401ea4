import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { to as copyTo } from 'pg-copy-streams';
import {
  countLines,
  createClient,
  drain,
  exportSlice,
  ingestFile,
  listTenants,
  requestExport,
} from '../lib/client.mjs';
import { after, inTurn, median, summary, timed } from '../lib/measure.mjs';
import { residentBytes, watchMemory } from '../lib/processes.mjs';
import { copyCsv, exportColumns, selectRecords } from '../lib/product.mjs';
import { withScope } from '../lib/scope.mjs';
import { startAlone, startService, writeFlights } from '../lib/service.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatSeconds,
  goal,
  latencyCells,
  markdownTable,
  none,
  ratioCells,
  section,
} from '../lib/table.mjs';

/** A tenant's quarter: the flights from Texas. */
const slice = { tenant: 'TX', from: '2001-01-01', to: '2001-03-31' };
const afterSlice = '2001-04-01';
const encodeLimitMillis = 120_000;

/** CSV over HTTP against a bare COPY TO; how soon it begins; memory; and a reader that stalls. */
export async function benchExport({ sizes, say, ...bench }) {
  const size = sizes.export;
  const { databaseUrl, service, client, db } = await startAlone(bench, 'export');
  say(`export: storing ${formatCount(size.flights)} flights`);
  const linesPath = join(bench.dir, 'export.ndjson');
  const flights = await writeFlights(linesPath, size.flights);
  await ingestFile(client, linesPath);
  await db.query('vacuum (analyze) enrichment_records');

  const options = { dir: bench.dir, name: 'export-memory', databaseUrl, token: service.token };
  const startAnother = (own) => startService(own, options);
  const shared = { db, client, service, startAnother, size, say, flights };
  const parts = [];
  for (const measure of [measureSpeed, measureFirstByte, measureMemory, measureStalledReader]) {
    parts.push(await withScope(bench.scope, (own) => measure({ ...shared, scope: own })));
  }
  return section(`CSV export: ${formatCount(flights)} flights stored`, ...parts);
}

const quoted = 'tenant store event_id kind source model datasets enrichment'.split(' ');

/** What one would type: the columns as PostgreSQL itself writes them. */
const plainQuery = `select tenant, store, to_char(occurred_at, 'YYYY-MM') as month, event_id, occurred_at,
  recorded_at, kind, source, model, confidence, bytes, null::text as datasets, enrichment
  from enrichment_records
  where tenant = '${slice.tenant}' and occurred_at >= '${slice.from}T00:00:00Z'
    and occurred_at < '${afterSlice}T00:00:00Z'
  order by tenant, store, occurred_at, event_id`;

/**
 * Rows a second over HTTP, and of bare COPYs: plain columns and the very text that we write, each as
 * PostgreSQL plans it by itself (a parallel sort) and along the key's index, as our exports read.
 */
async function measureSpeed({ db, client, size, say }) {
  const plain = () => db.query(copyTo(`copy (${plainQuery}) to stdout (format csv, header true)`));
  const same = () => sameTextCopy(db);
  const copy = (open, isByKey) => (onChunk) => drainCopy(db, open, { onChunk, isByKey });
  const ways = {
    'over HTTP': (onChunk) => exportSlice(client, slice, { onChunk }),
    'bare `COPY TO`, plain columns': copy(plain, false),
    'bare `COPY TO`, same text': copy(same, false),
    'bare `COPY TO`, plain columns, along the key': copy(plain, true),
    'bare `COPY TO`, same text, along the key': copy(same, true),
  };
  say('export: comparing what comes out');
  const rows = await assertSame(Object.entries(ways));
  const running = Object.entries(ways).map(([name, way]) => [
    name,
    async () => {
      const [millis, { bytes }] = await timed(() => way());
      return { perSecond: (rows / millis) * 1000, bytesPerSecond: (bytes / millis) * 1000 };
    },
  ]);
  const runs = await inTurn(Object.fromEntries(running), size.pairs, {
    onRound: (round) => say(`export: round ${round + 1} of ${size.pairs}`),
  });
  const [[, ours]] = Object.entries(runs);
  const of = (taken, field) => median(taken.map((run) => run[field]));
  return [
    `${slice.tenant}, ${slice.from} … ${slice.to}, ${formatCount(rows)} rows, all columns, in key order, no gzip, drained by the same Node process. The ratio is ours to that row, in rows/s. "Plain columns" leaves times to PostgreSQL's own spelling; the bytes of "same text" equal ours (compared by SHA-256). "Along the key" reads the index in order, as our exports do (\`enable_sort = off\`); the others run as PostgreSQL plans them by itself. In turn, ${ours.length} × each; medians.`,
    markdownTable(
      ['', 'rows/s:', 'MB/s:', 'ratio:', 'goal'],
      Object.entries(runs).map(([name, taken]) => [
        name,
        formatCount(of(taken, 'perSecond')),
        formatCount(of(taken, 'bytesPerSecond') / 1e6),
        ...(taken === ours
          ? [none, none]
          : ratioCells(of(ours, 'perSecond') / of(taken, 'perSecond'), '≥ 0.8')),
      ]),
    ),
  ].join('\n\n');
}

async function drainCopy(db, open, { onChunk, isByKey }) {
  await db.query(`set enable_sort = ${isByKey ? 'off' : 'on'}`);
  const copy = open();
  // What breaks the reading is thrown there; a second telling would end the process.
  copy.on('error', () => {});
  const bytes = await drain(copy, onChunk);
  return { rows: (await copy.counted) ?? copy.rowCount, bytes };
}

/** The service's own expressions, quoting and header. */
function sameTextCopy(client) {
  const { tenant, from } = slice;
  // Those that an export has by default.
  const columns = exportColumns.filter((name) => name !== 'split');
  const asked = { tenant, from, until: afterSlice, tenants: null };
  const query = selectRecords(asked, { kind: 'csv', columns });
  return copyCsv({ client }, query, { header: true, quoted });
}

/** Ours must be, byte for byte, what PostgreSQL writes; and all have equally many rows. Answers how many. */
async function assertSame(ways) {
  const seen = {};
  for (const [name, way] of ways) {
    const hash = createHash('sha256');
    let lines = -1;
    const result = await way((chunk) => {
      hash.update(chunk);
      lines += countLines(chunk);
    });
    seen[name] = { ...result, lines, sha256: hash.digest('base64') };
  }
  const [[, ours]] = Object.entries(seen);
  const same = Object.entries(seen).filter(([name]) => name.includes('same text'));
  const isEqual =
    ours.trailer === `sha-256=:${ours.sha256}:` &&
    same.every(([, { sha256 }]) => sha256 === ours.sha256) &&
    Object.values(seen).every(({ rows, lines }) => rows === ours.rows && lines === ours.rows);
  if (!isEqual) throw new Error(`exports differ: ${JSON.stringify(seen)}`);
  return ours.rows;
}

/** How long until the first byte of the body; the client then hangs up. */
async function measureFirstByte({ db, client, service, size, say }) {
  say('export: first byte');
  const times = [];
  for (let i = 0; i < size.firstBytes; i += 1) {
    const startedAt = performance.now();
    const { asked, response } = await requestExport(client, slice);
    await new Promise((resolve, reject) => {
      response.once('data', resolve);
      response.once('error', reject);
    });
    times.push(performance.now() - startedAt);
    response.on('error', () => {});
    asked.destroy();
    while ((await countSessions(db, service, "state <> 'idle'")) > 0) await delay(10);
  }
  const { p50, max } = summary(times);
  return markdownTable(
    [`first byte of ${slice.tenant} ${slice.from} … ${slice.to}`, 'time:', 'goal'],
    [
      [`median of ${times.length}`, formatMillis(p50), goal('< 100 ms', p50)],
      ['slowest', formatMillis(max), goal('< 100 ms', max)],
    ],
  );
}

/** How many of the service's connections are so. */
async function countSessions(db, { pid }, condition) {
  const { rows } = await db.query(
    `select count(*)::int as count from pg_stat_activity where application_name = $1 and ${condition}`,
    [`svcctl:${pid}`],
  );
  return rows[0].count;
}

/**
 * The memory of a service while it exports every tenant, one after the other: of a fresh one, for a
 * long-running one may already be as large as it gets. One tenant's export goes before, to load the code.
 */
async function measureMemory({ scope, startAnother, flights, say }) {
  say('export: all tenants, one after the other');
  const service = await startAnother(scope);
  const client = createClient(scope, service);
  const tenants = await listTenants(client);
  await exportSlice(client, { tenant: tenants[0].tenant });
  const memory = await watchMemory(service.pid, async () => {
    let sum = 0;
    for (const { tenant, count } of tenants) {
      const { rows } = await exportSlice(client, { tenant });
      if (rows !== count) throw new Error(`${tenant}: ${rows} rows, the leaf says ${count}`);
      sum += rows;
    }
    return sum;
  });
  if (memory.result !== flights) throw new Error(`exported ${memory.result} of ${flights} rows`);
  const growth = memory.peakBytes - memory.beforeBytes;
  const title = `memory of a fresh service, ${formatCount(flights)} rows of ${tenants.length} tenants`;
  return markdownTable(
    [title, 'MiB:', 'goal'],
    [
      ['before', formatMiB(memory.beforeBytes), ''],
      ['peak', formatMiB(memory.peakBytes), ''],
      ['growth', formatMiB(growth), goal('< 64 MiB', growth)],
    ],
  );
}

/**
 * A reader that takes a little and then sleeps: the service's memory, how long the database's snapshot
 * is held, and what another client's pages feel of it. In the end the reader wakes and gets every row.
 */
async function measureStalledReader({ scope, db, client, service, size, say }) {
  say('export: a reader that stalls');
  const other = createClient(scope, service);
  const before = await timePages(other, () => delay(size.watchMillis));
  const beforeBytes = residentBytes(service.pid);
  let peakBytes = beforeBytes;
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, residentBytes(service.pid));
  }, 50);
  scope.defer(() => clearInterval(sampling));

  const startedAt = performance.now();
  const { response, rowCount } = await requestExport(client, slice);
  response.pause();
  const snapshot = await findSnapshot(db, service.pid);
  const encoding = await timePages(other, () => untilReleased(db, snapshot));
  const encodedMillis = performance.now() - startedAt;
  const stalled = await timePages(other, () => delay(size.watchMillis));
  // Such connections hold back the database's clean-up.
  const isHolding = '(backend_xmin is not null or xact_start is not null)';
  const held = await countSessions(db, service, isHolding);
  clearInterval(sampling);

  let lines = -1;
  await drain(response, (chunk) => {
    lines += countLines(chunk);
  });
  if (lines !== rowCount) throw new Error(`the reader woke and got ${lines} of ${rowCount} rows`);
  const growth = peakBytes - beforeBytes;
  const pair = (times) => latencyCells(times).join(' / ');
  return markdownTable(
    ['a reader that stalls', 'measured:', 'goal'],
    [
      ['the database is done, its snapshot free, after', formatSeconds(encodedMillis), none],
      ['snapshots held then', String(held), goal('0', held === 0)],
      ['growth of the memory', formatMiB(growth), goal('< 64 MiB', growth)],
      ['page of another client before, p50 / p99', pair(before), none],
      ['… while the database still encodes, p50 / p99', pair(encoding), none],
      ['… while the reader sleeps, p50 / p99', pair(stalled), goal('p99 < 50 ms', stalled.p99)],
    ],
  );
}

/** Asks for pages one after the other until `until` is done. */
async function timePages(client, until) {
  const times = [];
  let isDone = false;
  const ending = until().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const path = `/api/v1/enrichment/records?tenant=${slice.tenant}&limit=100`;
    times.push((await client.get(path)).elapsedMillis);
  }
  await ending;
  return summary(times);
}

/** The export's transaction: the only one the service has open just now. */
async function findSnapshot(db, pid) {
  const { rows } = await db.query(
    'select pid, xact_start::text as since from pg_stat_activity where application_name = $1 and xact_start is not null',
    [`svcctl:${pid}`],
  );
  return rows[0] ?? { pid: 0, since: null };
}

/** Until that transaction is over: the database has written the last row. */
async function untilReleased(db, { pid, since }) {
  const isOver = after(encodeLimitMillis);
  while (!isOver()) {
    const { rows } = await db.query(
      'select count(*)::int as held from pg_stat_activity where pid = $1 and xact_start = $2::timestamptz',
      [pid, since],
    );
    if (rows[0].held === 0) return;
    await delay(20);
  }
  throw new Error('the export of a stalled reader still holds its snapshot');
}

import { createHash } from 'node:crypto';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { createClient } from '../lib/client.mjs';
import { watchTree } from '../lib/memory.mjs';
import { median } from '../lib/stats.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatRatio,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { drain, requestCsv } from '../records/csv-request.mjs';
import { listTenants, tenant } from './world.mjs';

/** CSV out of cold data over HTTP against PostgreSQL's COPY while it was hot, and DuckDB's own COPY. */
export async function benchExports({
  scope,
  client,
  service,
  flights,
  hotCopies,
  coldDir,
  dir,
  sizes,
  say,
}) {
  say('comparing digests');
  await assertWhole(client, tenant);
  say(`exporting ${tenant}`);
  const { ofTenant, firstBytes } = await exportTenant(client, sizes.pairs);
  say('exporting all tenants, in turn with DuckDB');
  const clients = [client, createClient(scope, service), createClient(scope, service)];
  const tenants = await listTenants(client);
  const copy = await openDuckDb(coldDir, join(dir, 'duckdb.csv'));
  let bytes = 0;
  const exportOurs = async () => {
    const exported = await exportAll(clients, tenants);
    if (exported.rows !== flights) throw new Error(`${exported.rows} rows of ${flights}`);
    bytes = exported.bytes;
  };
  const whole = { ours: [], duckdb: [] };
  const memory = await watchTree(service.pid, async () => {
    for (let i = 0; i < Math.min(3, sizes.pairs); i += 1) {
      const startedAt = performance.now();
      await exportOurs();
      whole.ours.push(performance.now() - startedAt);
      whole.duckdb.push(await copy.run());
    }
  });
  copy.close();
  const rate = (times, rows) => (rows / median(times)) * 1000;
  const cold = rate(
    ofTenant.map((run) => run.elapsedMillis),
    ofTenant[0].rows,
  );
  const hot = rate(
    hotCopies.map((run) => run.elapsedMillis),
    hotCopies[0].rows,
  );
  const ours = rate(whole.ours, flights);
  const duckdb = rate(whole.duckdb, flights);
  const stored = sizeOf(coldDir);
  const share = bytes / stored;
  return [
    `### CSV out of cold data`,
    `All columns, in key order, no gzip, over HTTP to a client that drops the bytes. "Bare ordered COPY" was taken in the same run before the move, as PostgreSQL plans it. DuckDB writes the same columns from the same Parquet to a file (2 threads), which ours does too, into spool files, and then hashes and sends them.`,
    markdownTable(
      ['', 'rows/s:', 'ratio:', 'goal'],
      [
        [
          `${tenant}, ${formatCount(ofTenant[0].rows)} rows, ours, cold`,
          formatCount(cold),
          none,
          none,
        ],
        [
          `${tenant}, bare ordered \`COPY TO\`, hot`,
          formatCount(hot),
          formatRatio(cold / hot),
          goal('≥ 3', cold / hot >= 3),
        ],
        [
          `all ${formatCount(flights)} rows, ${tenants.length} exports three at a time, ours`,
          formatCount(ours),
          none,
          none,
        ],
        [
          'all, DuckDB’s own `COPY` to a file',
          formatCount(duckdb),
          formatRatio(ours / duckdb),
          goal('≥ 0.7', ours / duckdb >= 0.7),
        ],
      ],
    ),
    markdownTable(
      ['', 'value:', 'goal'],
      [
        ['first byte, median', formatMillis(median(firstBytes)), none],
        ['stored bytes', formatMiB(stored), none],
        ['CSV bytes', formatMiB(bytes), none],
        ['CSV ÷ stored', formatRatio(share), goal('≥ 25', share >= 25)],
        ['memory, peak', formatMiB(memory.peakBytes), goal('< 512 MB', memory.peakBytes < 512e6)],
      ],
    ),
  ].join('\n\n');
}

/** One tenant, again and again: how long it takes, and until the first byte. */
async function exportTenant(client, times) {
  const ofTenant = [];
  const firstBytes = [];
  for (let i = 0; i < times; i += 1) {
    const startedAt = performance.now();
    const { response, rowCount } = await requestCsv(client, { tenant });
    let firstMillis;
    await drain(response, () => {
      firstMillis ??= performance.now() - startedAt;
    });
    ofTenant.push({ rows: rowCount, elapsedMillis: performance.now() - startedAt });
    firstBytes.push(firstMillis);
  }
  return { ofTenant, firstBytes };
}

/** What arrives is what the trailer says. */
async function assertWhole(client, name) {
  const { response } = await requestCsv(client, { tenant: name });
  const hash = createHash('sha256');
  await drain(response, (chunk) => hash.update(chunk));
  if (response.trailers['repr-digest'] !== `sha-256=:${hash.digest('base64')}:`) {
    throw new Error(`${name}: another digest than the trailer’s`);
  }
}

async function exportAll(clients, tenants) {
  const sum = { rows: 0, bytes: 0 };
  const waiting = [...tenants];
  const work = async (client) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { response, rowCount } = await requestCsv(client, { tenant: next.tenant });
      const bytes = await drain(response);
      sum.bytes += bytes;
      sum.rows += rowCount;
    }
  };
  await Promise.all(clients.map(work));
  return sum;
}

/** DuckDB as one would use it: all segments, the same columns, to a file. */
async function openDuckDb(coldDir, target) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const time = (column) => `strftime(make_timestamp(epoch_us(${column})), '%Y-%m-%dT%H:%M:%S.%fZ')`;
  const sql = `copy (select tenant, store, strftime(make_timestamp(epoch_us(occurred_at)), '%Y-%m') as month,
      event_id, ${time('occurred_at')} as occurred_at, ${time('recorded_at')} as recorded_at, kind, source,
      model, confidence, bytes, null as datasets, enrichment
    from read_parquet('${coldDir}/records/**/*.parquet', hive_partitioning = false))
    to '${target}' (format csv, header true,
      force_quote (tenant, store, event_id, kind, source, model, enrichment))`;
  return {
    async run() {
      const startedAt = performance.now();
      await connection.run(sql);
      const elapsedMillis = performance.now() - startedAt;
      rmSync(target);
      return elapsedMillis;
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.parquet'))
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { createClient, ingestFile } from '../lib/client.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { watchMemory } from '../lib/memory.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatMiB, formatRatio, goal, markdownTable, none } from '../lib/table.mjs';

const columns =
  'tenant, store, occurred_at, event_id, recorded_at, kind, source, model, confidence, bytes, digest, enrichment';

/** One NDJSON stream through the API against a bare COPY FROM of the very same rows. */
export async function benchIngest({ scope, dir, postgres, sizes, say }) {
  const { flights, pairs } = sizes.ingest;
  const url = await postgres.createDatabase(scope, 'bench_ingest');
  const db = await connect(scope, url);
  const service = await startService(scope, { dir, name: 'ingest', databaseUrl: url });
  const client = createClient(scope, service);
  const linesPath = join(dir, 'flights.ndjson');
  const rowsPath = join(dir, 'flights.copy');

  say(`ingest: writing ${formatCount(flights)} flights to a file`);
  const count = await writeFlights(linesPath, flights);
  say('ingest: warming up, and writing the same rows as a file for COPY');
  assertAccepted(await ingestFile(client, linesPath), count);
  await writeRows(db, rowsPath);
  await createBareTable(db);

  const runs = { ours: [], repeated: [], bare: [] };
  for (let pair = 1; pair <= pairs; pair += 1) {
    say(`ingest: pair ${pair} of ${pairs}`);
    await db.query(
      'truncate enrichment_records, leaf_days, leaf_months, leaf_stores, leaf_tenants, tenant_days, tenant_months',
    );
    await db.query('checkpoint');
    runs.ours.push(await ingestOurs(service, client, { linesPath, count }));
    runs.repeated.push(await ingestAgain(client, { linesPath, count }));
    await db.query('truncate bare_records');
    await db.query('checkpoint');
    runs.bare.push(await copyBare(db, { rowsPath, count }));
  }
  return report(runs, { count, pairs });
}

async function ingestOurs(service, client, { linesPath, count }) {
  const startedAt = performance.now();
  const memory = await watchMemory(service.pid, () => ingestFile(client, linesPath));
  assertAccepted(memory.result, count);
  return { perSecond: (count / (performance.now() - startedAt)) * 1000, memory };
}

/** The same records once more: all are duplicates. */
async function ingestAgain(client, { linesPath, count }) {
  const startedAt = performance.now();
  const { duplicates } = await ingestFile(client, linesPath);
  if (duplicates !== count) throw new Error(`${duplicates} duplicates of ${count}`);
  return { perSecond: (count / (performance.now() - startedAt)) * 1000 };
}

async function copyBare(db, { rowsPath, count }) {
  const startedAt = performance.now();
  const copy = db.query(copyFrom(`copy bare_records (${columns}) from stdin`));
  await pipeline(createReadStream(rowsPath), copy);
  if (copy.rowCount !== count) throw new Error(`COPY stored ${copy.rowCount} of ${count}`);
  return { perSecond: (count / (performance.now() - startedAt)) * 1000 };
}

/** In the order in which the lines come: flights are numbered in it. */
async function writeRows(db, path) {
  const copy = db.query(
    copyTo(`copy (select ${columns} from enrichment_records order by event_id) to stdout`),
  );
  await pipeline(copy, createWriteStream(path));
}

/** Same columns, same key, the same months as partitions. */
async function createBareTable(db) {
  await db.query(
    'create table bare_records (like enrichment_records including all) partition by range (occurred_at)',
  );
  const { rows } = await db.query(`
    select relname as name, pg_get_expr(relpartbound, pg_class.oid) as bound
    from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'enrichment_records'::regclass`);
  for (const { name, bound } of rows) {
    await db.query(`create table bare_${name} partition of bare_records ${bound}`);
  }
}

function assertAccepted(answer, count) {
  if (answer.accepted === count && answer.rejected_count === 0) return;
  throw new Error(`ingest answered ${JSON.stringify(answer).slice(0, 500)} for ${count} records`);
}

function report(runs, { count, pairs }) {
  const ours = median(runs.ours.map((run) => run.perSecond));
  const bare = median(runs.bare.map((run) => run.perSecond));
  const repeated = median(runs.repeated.map((run) => run.perSecond));
  const most = (field) => Math.max(...runs.ours.map((run) => run.memory[field]));
  const growthBytes = most('lastThirdBytes') - most('firstThirdBytes');
  const rows = [
    [
      'records/s',
      formatCount(ours),
      formatCount(bare),
      formatRatio(ours / bare),
      goal('≥ 0.8', ours / bare >= 0.8),
    ],
    [
      'records/s, all of them duplicates; the ratio is to all new',
      formatCount(repeated),
      none,
      formatRatio(repeated / ours),
      goal('≥ 0.7', repeated / ours >= 0.7),
    ],
    ['memory of the service before', formatMiB(runs.ours[0].memory.beforeBytes), none, none, none],
    ['memory, peak of the first third', formatMiB(most('firstThirdBytes')), none, none, none],
    [
      'memory, peak of the last third',
      formatMiB(most('lastThirdBytes')),
      none,
      none,
      goal('flat: < 32 MiB more', growthBytes < 32 * 2 ** 20),
    ],
  ];
  return [
    `### Ingest: ${formatCount(count)} flights`,
    `One NDJSON stream through \`POST /enrichment/records\` against one \`COPY bare_records FROM STDIN\` of the same rows into a table of the same shape (columns, key, partitions). In turn, ${pairs} × each, after one warm-up; medians.`,
    markdownTable(['', 'ours:', 'COPY:', 'ratio:', 'goal'], rows),
  ].join('\n\n');
}

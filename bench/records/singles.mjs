import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBare } from '../lib/bare.mjs';
import { writeFlights } from '../lib/flights-file.mjs';
import { summary } from '../lib/latency.mjs';
import { postAll } from '../lib/post-all.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatMillis, formatRatio, goal, markdownTable } from '../lib/table.mjs';

const path = '/api/v1/enrichment/records';
const clientCounts = [1, 16, 64];

/** One record a request, as a pipeline writes, against a bare server with one durable INSERT each. */
export async function benchSingles({ scope, dir, postgres, sizes, say }) {
  const { requests, pairs } = sizes.singles;
  const databaseUrl = await postgres.createDatabase(scope, 'bench_singles');
  const db = await connect(scope, databaseUrl);
  const service = await startService(scope, { dir, name: 'singles', databaseUrl });
  const flights = join(dir, 'singles.ndjson');
  await writeFlights(flights, requests);
  const lines = (await readFile(flights, 'utf8')).trimEnd().split('\n');
  const oneLeaf = lines.map((line) =>
    line.replace(/"tenant":"[^"]*","store":"[^"]*"/, '"tenant":"TX","store":"DFW"'),
  );
  const bodies = (set) => set.map((line) => `{"records":[${line}]}`);
  // The partitions are made before anything is measured.
  await send(service, bodies(lines.slice(-1)), 1);
  await createBareTable(db);
  const bare = await startBareInserts(scope, databaseUrl);

  const rows = [];
  for (const clients of clientCounts) {
    const runs = { ours: [], bare: [], leaf: [] };
    for (let pair = 1; pair <= pairs; pair += 1) {
      say(`singles: ${clients} clients, pair ${pair} of ${pairs}`);
      const part = clients === 1 ? lines.length / 8 : lines.length;
      for (const { side, asked, set } of [
        { side: 'ours', asked: service, set: lines },
        { side: 'bare', asked: bare, set: lines },
        { side: 'leaf', asked: service, set: oneLeaf },
      ]) {
        await db.query(
          'truncate enrichment_records, leaf_days, leaf_months, leaf_stores, leaf_tenants, tenant_days, tenant_months, bare_records',
        );
        await db.query('checkpoint');
        runs[side].push(await send(asked, bodies(set.slice(0, part)), clients));
      }
    }
    rows.push(rowOf(clients, runs));
  }
  return [
    `### Single records: ${formatCount(requests)} requests of one flight each`,
    `Each client sends the next record when the last one is answered. Against a node:http server with one durable INSERT a request into a table of the same columns, key and partitions. "One leaf" sends every record for one tenant and store. In turn, ${pairs} × each; medians.`,
    markdownTable(
      [
        'clients',
        'ours:',
        'bare:',
        'ratio:',
        'goal',
        'ours p50:',
        'p99:',
        'bare p50:',
        'p99:',
        'one leaf:',
        'to spread:',
        'goal',
      ],
      rows,
    ),
  ].join('\n\n');
}

async function send(service, bodies, clients) {
  const check = (body) => {
    if (!body.startsWith('{"accepted":1')) throw new Error(`answered ${body}`);
  };
  return postAll(service, { path, bodies, clients, check });
}

function rowOf(clients, { ours, bare, leaf }) {
  const rate = (runs) => median(runs.map((run) => run.perSecond));
  const times = (runs) => summary(runs.flatMap((run) => run.millis));
  const ratio = rate(ours) / rate(bare);
  const toSpread = rate(leaf) / rate(ours);
  const [own, other] = [times(ours), times(bare)];
  return [
    clients,
    `${formatCount(rate(ours))}/s`,
    `${formatCount(rate(bare))}/s`,
    formatRatio(ratio),
    goal('≥ 1', ratio >= 1),
    formatMillis(own.p50),
    formatMillis(own.p99),
    formatMillis(other.p50),
    formatMillis(other.p99),
    `${formatCount(rate(leaf))}/s`,
    formatRatio(toSpread),
    goal('≥ 0.9', toSpread >= 0.9),
  ];
}

function startBareInserts(scope, databaseUrl) {
  const script = fileURLToPath(new URL('bare-insert.mjs', import.meta.url));
  return startBare(scope, script, databaseUrl);
}

async function createBareTable(db) {
  await db.query(
    'create table bare_records (like enrichment_records including all) partition by range (occurred_at)',
  );
  await db.query(
    `create table bare_2001 partition of bare_records for values from ('2001-01-01Z') to ('2002-01-01Z')`,
  );
}

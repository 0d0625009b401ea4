import { createReadStream, createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { startBare } from '../lib/bare.mjs';
import { ingestFile } from '../lib/client.mjs';
import { inTurn, timed } from '../lib/measure.mjs';
import { postAll, rateCells, rateOf } from '../lib/post-all.mjs';
import { createBareRecords, recordTables } from '../lib/postgres.mjs';
import { watchMemory } from '../lib/processes.mjs';
import { startAlone, writeFlights } from '../lib/service.mjs';
import {
  formatCount,
  formatMiB,
  goal,
  markdownTable,
  none,
  ratioCells,
  section,
} from '../lib/table.mjs';

const columns =
  'tenant, store, occurred_at, event_id, recorded_at, kind, source, model, confidence, bytes, digest, enrichment';

/** One NDJSON stream through the API against a bare COPY FROM of the very same rows. */
export async function benchIngest({ sizes, say, ...bench }) {
  const { flights, pairs } = sizes.ingest;
  const { service, client, db } = await startAlone(bench, 'ingest');
  const linesPath = join(bench.dir, 'flights.ndjson');
  const rowsPath = join(bench.dir, 'flights.copy');

  say(`ingest: writing ${formatCount(flights)} flights to a file`);
  const count = await writeFlights(linesPath, flights);
  say('ingest: warming up, and writing the same rows as a file for COPY');
  /** All must be of this kind: accepted, or duplicates. */
  const ingest = async (kind, options) => {
    const answer = await ingestFile(client, linesPath, options);
    if (answer[kind] === count && answer.rejected_count === 0) return;
    throw new Error(`ingest answered ${JSON.stringify(answer).slice(0, 500)} for ${count} records`);
  };
  await ingest('accepted');
  await writeRows(db, rowsPath);
  await createBareRecords(db);

  const perSecond = (timing) => (count / timing[0]) * 1000;
  const runs = await inTurn(
    {
      async ours() {
        await db.query(`truncate ${recordTables}`);
        await db.query('checkpoint');
        const memory = await watchMemory(service.pid, () => timed(() => ingest('accepted')));
        return { perSecond: perSecond(memory.result), memory };
      },
      repeated: async () => ({ perSecond: perSecond(await timed(() => ingest('duplicates'))) }),
      checked: async () => ({
        perSecond: perSecond(await timed(() => ingest('duplicates', { isDry: true }))),
      }),
      async bare() {
        await db.query('truncate bare_records');
        await db.query('checkpoint');
        return { perSecond: perSecond(await timed(() => copyBare(db, { rowsPath, count }))) };
      },
    },
    pairs,
    { onRound: (round) => say(`ingest: pair ${round + 1} of ${pairs}`) },
  );
  return reportIngest(runs, { count, pairs });
}

async function copyBare(db, { rowsPath, count }) {
  const copy = db.query(copyFrom(`copy bare_records (${columns}) from stdin`));
  await pipeline(createReadStream(rowsPath), copy);
  if (copy.rowCount !== count) throw new Error(`COPY stored ${copy.rowCount} of ${count}`);
}

/** In the order in which the lines come: flights are numbered in it. */
async function writeRows(db, path) {
  const copy = db.query(
    copyTo(`copy (select ${columns} from enrichment_records order by event_id) to stdout`),
  );
  await pipeline(copy, createWriteStream(path));
}

function reportIngest(runs, { count, pairs }) {
  const [ours, bare, repeated, checked] = [runs.ours, runs.bare, runs.repeated, runs.checked].map(
    rateOf,
  );
  const most = (field) => Math.max(...runs.ours.map((run) => run.memory[field]));
  const growthBytes = most('lastThirdBytes') - most('firstThirdBytes');
  const memory = (name, bytes, cell = none) => [name, formatMiB(bytes), none, none, cell];
  return section(
    `Ingest: ${formatCount(count)} flights`,
    `One NDJSON stream through \`POST /enrichment/records\` against one \`COPY bare_records FROM STDIN\` of the same rows into a table of the same shape (columns, key, partitions). In turn, ${pairs} × each, after one warm-up; medians.`,
    markdownTable(
      ['', 'ours:', 'COPY:', 'ratio:', 'goal'],
      [
        ['records/s', formatCount(ours), formatCount(bare), ...ratioCells(ours / bare, '≥ 0.8')],
        [
          'records/s, all of them duplicates; the ratio is to all new',
          formatCount(repeated),
          none,
          ...ratioCells(repeated / ours, '≥ 0.7'),
        ],
        [
          'records/s, checked alone (`dry_run`, as `records lint`); the ratio is to all new',
          formatCount(checked),
          none,
          ...ratioCells(checked / ours, '≥ 1'),
        ],
        memory('memory of the service before', runs.ours[0].memory.beforeBytes),
        memory('memory, peak of the first third', most('firstThirdBytes')),
        memory(
          'memory, peak of the last third',
          most('lastThirdBytes'),
          goal('flat: < 32 MiB more', growthBytes),
        ),
      ],
    ),
  );
}

const clientCounts = [1, 16, 64];

/** One record a request, as a pipeline writes, against a bare server with one durable INSERT each. */
export async function benchSingles({ sizes, say, ...bench }) {
  const { requests, pairs } = sizes.singles;
  const { databaseUrl, service, db } = await startAlone(bench, 'singles');
  const flights = join(bench.dir, 'singles.ndjson');
  await writeFlights(flights, requests);
  const lines = (await readFile(flights, 'utf8')).trimEnd().split('\n');
  const oneLeaf = lines.map((line) =>
    line.replace(/"tenant":"[^"]*","store":"[^"]*"/, '"tenant":"TX","store":"DFW"'),
  );
  const send = (asked, set, clients) => {
    const bodies = set.map((line) => `{"records":[${line}]}`);
    const load = { path: '/api/v1/enrichment/records', answer: '{"accepted":1' };
    return postAll(asked, { ...load, bodies, clients });
  };
  // The partitions are made before anything is measured.
  await send(service, [lines[0], lines.at(-1)], 1);
  await createBareRecords(db);
  const bare = await startBare(bench.scope, 'records', databaseUrl);

  const rows = [];
  for (const clients of clientCounts) {
    const part = clients === 1 ? lines.length / 8 : lines.length;
    const sending = (asked, set) => async () => {
      await db.query(`truncate ${recordTables}, bare_records`);
      await db.query('checkpoint');
      return send(asked, set.slice(0, part), clients);
    };
    const runs = await inTurn(
      {
        ours: sending(service, lines),
        bare: sending(bare, lines),
        leaf: sending(service, oneLeaf),
      },
      pairs,
      { onRound: (round) => say(`singles: ${clients} clients, pair ${round + 1} of ${pairs}`) },
    );
    const leaf = rateOf(runs.leaf);
    rows.push([
      clients,
      ...rateCells(runs, '≥ 1'),
      `${formatCount(leaf)}/s`,
      ...ratioCells(leaf / rateOf(runs.ours), '≥ 0.9'),
    ]);
  }
  const titles =
    'clients|ours:|bare:|ratio:|goal|ours p50:|p99:|bare p50:|p99:|one leaf:|to spread:|goal';
  return section(
    `Single records: ${formatCount(requests)} requests of one flight each`,
    `Each client sends the next record when the last one is answered. Against a node:http server with one durable INSERT a request into a table of the same columns, key and partitions. "One leaf" sends every record for one tenant and store. In turn, ${pairs} × each; medians.`,
    markdownTable(titles.split('|'), rows),
  );
}

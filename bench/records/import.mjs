import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { cleanEnvironment } from '../lib/child.mjs';
import { openCopy } from '../lib/duckdb.mjs';
import { inTurn, mapValues, median, timed } from '../lib/measure.mjs';
import { recordTables } from '../lib/postgres.mjs';
import { endedCpuMillis, ownCpuMillis, treeCpuMillis } from '../lib/processes.mjs';
import { programPath } from '../lib/product.mjs';
import { startAlone, writeFlights } from '../lib/service.mjs';
import {
  formatCount,
  formatMicros,
  formatSeconds,
  markdownTable,
  none,
  ratioCells,
  section,
} from '../lib/table.mjs';

const run = promisify(execFile);
const formats = ['parquet', 'csv', 'ndjson'];

/** `svcctl records import` of files against DuckDB's own copy of the same files to one of Parquet. */
export async function benchImport({ sizes, say, ...bench }) {
  const { flights, pairs } = sizes.import;
  const { postgres } = bench;
  const { service, db } = await startAlone(bench, 'import');
  const dir = join(bench.dir, 'history');
  mkdirSync(dir);
  say(`import: writing ${formatCount(flights)} flights in ${formats.length} formats`);
  const count = await writeFlights(join(dir, 'flights.ndjson'), flights);
  await writeTables(dir);

  const importFile = async (format, kind, options = []) => {
    const args = [programPath, 'records', 'import', join(dir, `flights.${format}`), '--json'];
    const env = cleanEnvironment({ SVC_URL: service.origin, SVC_TOKEN: service.token });
    const { stdout } = await run(process.execPath, [...args, ...options], { env });
    const answer = JSON.parse(stdout);
    if (answer[kind] === count && answer.rejected_count === 0) return;
    throw new Error(`import answered ${stdout.slice(0, 500)} for ${count} records`);
  };
  const shares = {
    client: () => endedCpuMillis(process.pid),
    node: () => ownCpuMillis(service.pid),
    duckdb: () => treeCpuMillis(service.pid) - ownCpuMillis(service.pid),
    postgres: () => treeCpuMillis(postgres.pid()),
  };
  const importing = (format) => async () => {
    await db.query(`truncate ${recordTables}, segments, segment_days`);
    await db.query('checkpoint');
    const before = mapValues(shares, (share) => share());
    const [elapsed] = await timed(() => importFile(format, 'accepted'));
    const after = mapValues(shares, (share) => share());
    for (const name of Object.keys(shares)) cpu[format][name].push(after[name] - before[name]);
    return elapsed;
  };
  const cpu = mapValues({ parquet: 0, csv: 0, ndjson: 0 }, () => mapValues(shares, () => []));
  const copyCpu = { parquet: [], csv: [], ndjson: [] };
  const ways = {
    ndjson: importing('ndjson'),
    csv: importing('csv'),
    parquet: importing('parquet'),
    again: async () => (await timed(() => importFile('parquet', 'duplicates')))[0],
    check: async () => (await timed(() => importFile('parquet', 'duplicates', ['--check'])))[0],
  };
  const copies = await openCopies(dir);
  for (const format of formats) {
    ways[`${format} copy`] = async () => {
      const before = process.cpuUsage();
      const elapsed = await copies[format].run();
      const { user, system } = process.cpuUsage(before);
      copyCpu[format].push((user + system) / 1000);
      return elapsed;
    };
  }
  const onRound = (round) => say(`import: ${round + 1} of ${pairs}`);
  const millis = mapValues(await inTurn(ways, pairs, { onRound }), median);
  for (const format of formats) copies[format].close();

  const row = (title, way, other, wanted) => [
    title,
    formatSeconds(millis[way]),
    formatCount((count / millis[way]) * 1000),
    ...(other === undefined ? [none, none] : ratioCells(millis[other] / millis[way], wanted)),
  ];
  return section(
    `Import: ${formatCount(count)} flights`,
    `\`svcctl records import\` of one file, from the start of the program to its end, against DuckDB's copy of the same file to one of Parquet (zstd, 2 threads). Medians of ${pairs}, in turn.`,
    markdownTable(
      ['', 'time:', 'rows/s:', 'ratio:', 'goal'],
      [
        ...formats.map((format) => row(titles[format], format, `${format} copy`, '≥ 0.5')),
        row('Parquet, all of them known', 'again'),
        row('Parquet, `--check`, all of them known', 'check'),
        ...formats.map((format) => row(`DuckDB: ${titles[format]}`, `${format} copy`)),
      ],
    ),
    'CPU of each process for a row, user and system, which says the same on a busy machine as on a quiet one.',
    markdownTable(
      [
        '',
        'client:',
        'Node:',
        'DuckDB:',
        'PostgreSQL:',
        'in all:',
        'DuckDB’s copy:',
        'ratio:',
        'goal',
      ],
      formats.map((format) => {
        const parts = Object.values(mapValues(cpu[format], median));
        const sum = parts.reduce((all, part) => all + part, 0);
        const copy = median(copyCpu[format]);
        const perRow = [...parts, sum, copy].map((part) => formatMicros(part / count));
        return [titles[format], ...perRow, ...ratioCells(copy / sum, '≥ 0.5')];
      }),
    ),
  );
}

const titles = { parquet: 'Parquet', csv: 'CSV', ndjson: 'NDJSON' };

/** The lines as tables, of which the enrichment is a struct in Parquet, and JSON text in CSV. */
async function writeTables(dir) {
  const lines = `read_json('${join(dir, 'flights.ndjson')}', format = 'newline_delimited')`;
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run("set timezone = 'UTC'");
  await connection.run(`copy (select * from ${lines}) to '${join(dir, 'flights.parquet')}'`);
  await connection.run(
    `copy (select * replace (to_json(enrichment)::varchar as enrichment) from ${lines}) to '${join(dir, 'flights.csv')}'`,
  );
  connection.closeSync();
  instance.closeSync();
}

async function openCopies(dir) {
  const readers = { parquet: 'read_parquet', csv: 'read_csv', ndjson: 'read_json' };
  const open = (format) =>
    openCopy(
      `select * from ${readers[format]}('${join(dir, `flights.${format}`)}')`,
      join(dir, 'copy.parquet'),
      'format parquet, compression zstd',
    );
  return { parquet: await open('parquet'), csv: await open('csv'), ndjson: await open('ndjson') };
}

import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { call, createClient, runExportJob, runRetention } from './lib/client.mjs';
import { openCopy } from './lib/duckdb.mjs';
import { inTurn, mapValues, median, timed, until } from './lib/measure.mjs';
import { runSections } from './lib/run-sections.mjs';
import { startService, storeFlights } from './lib/service.mjs';
import {
  formatCount,
  formatSeconds,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';

const tenant = 'US';
const sections = { delivery: benchDelivery, typed: benchTyped };

/** How many flights there are, in three days at least, and how often ours and the other side take turns. */
const sizes = {
  smallest: { flights: 40_000, pairs: 1 },
  quick: { flights: 100_000, pairs: 1 },
  standard: { flights: 1_000_000, pairs: 3 },
  full: { flights: 3_000_000, pairs: 5 },
};

/** What leaves for other programs, against DuckDB that reads the same files. */
export const runBench = ({ size, only }) =>
  runSections({ name: 'readers', sections, sizes, start: startWorld }, { size, only });

/** A service with all flights in one cold tenant, and the SQL that reads its segments. */
async function startWorld(bench) {
  const outDir = join(bench.dir, 'delivered');
  const { options, flights, coldDir } = await storeFlights(bench, 'readers', {
    ...{ limit: bench.sizes.flights, only: tenant },
    work(side) {
      bench.say('moving them cold');
      return runRetention(side);
    },
  });
  const settings = { ...options.settings, SVC_EXPORT_ROOTS: outDir };
  const service = await startService(bench.scope, { ...options, settings });
  const client = createClient(bench.scope, service);
  const segments = `read_parquet('${coldDir}/records/tenant=*/*.parquet', hive_partitioning = false)`;
  return { service, client, flights, outDir, segments };
}

/** DuckDB as one would use it, with two threads. */
async function openDuckDb(scope) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  scope.defer(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await connection.run("set timezone = 'UTC'");
  /** @type {(sql: string) => Promise<any[]>} */
  const rowsOf = async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJS();
  return { rowsOf };
}

/** A row of a table in which ours is compared with another. */
const rowOf = (millis, rows) => (title, way, other, wanted) => [
  title,
  formatSeconds(millis[way]),
  formatCount((rows / millis[way]) * 1000),
  ...(other === undefined ? [none, none] : ratioCells(millis[other] / millis[way], wanted)),
];
const titles = ['', 'time:', 'rows/s:', 'ratio:', 'goal'];

const copyOptions = {
  parquet: 'format parquet, compression zstd',
  csv: 'format csv, header',
  ndjson: 'format json',
};

/** A schedule's first run, which delivers everything, in each format. */
async function benchDelivery({
  scope,
  service,
  client,
  flights,
  segments,
  outDir,
  dir,
  sizes,
  say,
}) {
  const formats = ['parquet', 'csv', 'ndjson'];
  const copies = {};
  const ways = {};
  for (const format of formats) {
    const target = join(dir, `copy.${format}`);
    copies[format] = await openCopy(`select * from ${segments}`, target, copyOptions[format]);
    scope.defer(() => copies[format].close());
    ways[format] = (round) =>
      deliver({ service, client }, { format, flights, to: join(outDir, `${format}-${round}`) });
    ways[`${format} copy`] = () => copies[format].run();
  }
  const onRound = (round) => say(`delivery, ${round + 1} of ${sizes.pairs}`);
  const millis = mapValues(await inTurn(ways, sizes.pairs, { onRound }), median);
  const row = rowOf(millis, flights);
  const names = { parquet: 'Parquet', csv: 'CSV', ndjson: 'NDJSON' };
  return section(
    `A schedule’s delivery of ${formatCount(flights)} records`,
    `The first run of a schedule into a folder, by its own times: from its beginning, which a request asks for and which comes within five seconds, until all is delivered: the slice pinned, files of some 250,000 rows, each proved, then manifest and marker. DuckDB copies the same segments into one file, with 2 threads. Medians of ${sizes.pairs}, in turn.`,
    markdownTable(titles, [
      ...formats.map((format) => row(names[format], format, `${format} copy`)),
      ...formats.map((format) => row(`DuckDB’s copy: ${names[format]}`, `${format} copy`)),
    ]),
  );
}

/** Makes a schedule and has it run once. Answers how long the run took. */
async function deliver({ service, client }, { format, to, flights }) {
  const body = { tenant, to, format, cron: '0 0 1 1 *' };
  const { id } = await call(service, 'POST', '/exports/schedules', body);
  const path = `/exports/schedules/${id}`;
  await call(service, 'POST', `${path}/run`);
  const run = await until(async () => {
    const { last_run: last } = (await client.get(`/api/v1${path}`)).body;
    if (last?.error) throw new Error(last.error);
    return last?.delivered_at ? last : undefined;
  });
  if (run.rows !== flights) throw new Error(`${run.rows} of ${flights} delivered`);
  await call(service, 'DELETE', path);
  return Date.parse(run.delivered_at) - Date.parse(run.created_at);
}

/** The fields of the enrichment as columns, by us and by DuckDB's own means. */
async function benchTyped({ scope, service, client, flights, segments, dir, sizes, say }) {
  const duckdb = await openDuckDb(scope);
  const target = join(dir, 'typed.parquet');
  const ours = async () => {
    const [millis, job] = await timed(() =>
      runExportJob({ service, client }, 'parquet', { tenant, typed: true }),
    );
    if (job.rows_done !== flights) throw new Error(`${job.rows_done} of ${flights} rows`);
    return millis;
  };
  const plain = async () =>
    (await timed(() => runExportJob({ service, client }, 'parquet', { tenant })))[0];
  const copied = async () =>
    (
      await timed(async () => {
        const [{ shape }] = await duckdb.rowsOf(
          `select json_group_structure(enrichment::json)::varchar as shape from (from ${segments} using sample 10000)`,
        );
        await duckdb.rowsOf(
          `copy (select * exclude (enrichment), unnest(from_json(enrichment, '${shape.replaceAll("'", "''")}'))
            from ${segments}) to '${target}' (${copyOptions.parquet})`,
        );
      })
    )[0];
  const onRound = (round) => say(`typed, ${round + 1} of ${sizes.pairs}`);
  const ways = { ours, plain, copied };
  const millis = mapValues(await inTurn(ways, sizes.pairs, { onRound }), median);
  const row = rowOf(millis, flights);
  return section(
    `Typed Parquet of ${formatCount(flights)} records`,
    `A job, from its request to \`completed\`: columns inferred from a sample, each row taken apart, what fits no column kept in \`_rest\`, the file proved. DuckDB infers a structure from 10,000 rows (\`json_group_structure\`), and copies \`from_json\` of all by it, in which a value that does not fit is lost or fails. Medians of ${sizes.pairs}, in turn.`,
    markdownTable(titles, [
      row('typed job, to DuckDB’s copy', 'ours', 'copied'),
      row('the same job, not typed, to the typed one', 'plain', 'ours'),
      row('DuckDB’s copy', 'copied'),
    ]),
  );
}

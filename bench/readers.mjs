import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { cleanEnvironment } from './lib/child.mjs';
import { call, createClient, pagesOf, runExportJob, runRetention } from './lib/client.mjs';
import { openCopy } from './lib/duckdb.mjs';
import { inTurn, mapValues, median, timed, until } from './lib/measure.mjs';
import { programPath } from './lib/product.mjs';
import { runSections } from './lib/run-sections.mjs';
import { startService, storeFlights } from './lib/service.mjs';
import {
  formatCount,
  formatMillis,
  formatSeconds,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';

const runFile = promisify(execFile);
const tenant = 'US';
const sections = {
  delivery: benchDelivery,
  typed: benchTyped,
  bundle: benchBundle,
  where: benchWhere,
  iceberg: benchIceberg,
};

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

/** A version with its splits as a folder that datasets.load_dataset takes, by the command line, against copies of the splits. */
async function benchBundle({ scope, service, client, flights, segments, dir, sizes, say }) {
  await call(service, 'POST', '/enrichment/tags', { tenant, dataset: 'training' });
  const shares = { train: 80, validation: 10, test: 10 };
  const body = { tenant, dataset: 'training', name: 'bench', shares };
  const [frozen, { id }] = await timed(async () => {
    const version = await call(service, 'POST', '/enrichment/dataset-versions', body);
    const path = `/api/v1/enrichment/dataset-versions/${version.id}`;
    await until(async () => ((await client.get(path)).body.count === flights ? true : undefined));
    return version;
  });
  const duckdb = await openDuckDb(scope);
  const env = cleanEnvironment({ HOME: dir, SVC_URL: service.origin, SVC_TOKEN: service.token });
  const ways = {
    bundle: async (round) => {
      const args = ['records', 'versions', 'bundle', id, '--dir', join(dir, `bundle-${round}`)];
      return (await timed(() => runFile(process.execPath, [programPath, ...args], { env })))[0];
    },
    copies: async (round) => {
      const split = 'case when hash(event_id) % 10 < 8 then 0 else hash(event_id) % 10 end';
      const target = join(dir, `splits-${round}`);
      const copy = `copy (select *, ${split} as split from ${segments}) to '${target}' (${copyOptions.parquet}, partition_by (split))`;
      return (await timed(() => duckdb.rowsOf(copy)))[0];
    },
  };
  const onRound = (round) => say(`bundle, ${round + 1} of ${sizes.pairs}`);
  const millis = mapValues(await inTurn(ways, sizes.pairs, { onRound }), median);
  const row = rowOf({ ...millis, frozen }, flights);
  return section(
    `A bundle of ${formatCount(flights)} records`,
    `\`svcctl records versions bundle\`: one export job of three splits, each proved and summarized, whose tar is fetched and unpacked. DuckDB copies the same segments into a folder a split by a hash of the id, with 2 threads. Medians of ${sizes.pairs}, in turn.`,
    markdownTable(titles, [
      row('the version is frozen', 'frozen'),
      row('bundle, to DuckDB’s copy', 'bundle', 'copies'),
      row('DuckDB’s copy', 'copies'),
    ]),
  );
}

/** What `where` finds, counted and exported, by us and by DuckDB's own filter on the same files. */
async function benchWhere({ scope, service, client, segments, dir, sizes, say }) {
  const duckdb = await openDuckDb(scope);
  const where = 'delay >= 30';
  const filter = `try_cast(json_extract_string(enrichment, '$.delay') as double) >= 30`;
  const [{ fitting }] = await duckdb.rowsOf(
    `select count(*)::integer as fitting from ${segments} where ${filter}`,
  );
  const assertAll = (found) => {
    if (found !== fitting) throw new Error(`${found} of ${fitting} records`);
  };
  const copy = await openCopy(
    `select * from ${segments} where ${filter}`,
    join(dir, 'where.csv'),
    copyOptions.csv,
  );
  scope.defer(() => copy.close());
  const takeMillis = async (work) => (await timed(work))[0];
  const path = `/api/v1/enrichment/records/count?tenant=${tenant}&where=${encodeURIComponent(where)}`;
  const ways = {
    count: () =>
      takeMillis(async () => {
        let count = 0;
        for await (const { body } of pagesOf(client, path)) count += body.count;
        assertAll(count);
      }),
    counted: () =>
      takeMillis(() => duckdb.rowsOf(`select count(*) from ${segments} where ${filter}`)),
    job: () =>
      takeMillis(async () =>
        assertAll((await runExportJob({ service, client }, 'csv', { tenant, where })).rows_done),
      ),
    copy: () => copy.run(),
  };
  const onRound = (round) => say(`where, ${round + 1} of ${sizes.pairs}`);
  const millis = mapValues(await inTurn(ways, sizes.pairs, { onRound }), median);
  const row = rowOf(millis, fitting);
  return section(
    `${formatCount(fitting)} records by \`where\``,
    `What \`${where}\` finds in all records, each read: a count, page by page, and an export job as CSV, which counts first and proves its file by that. DuckDB takes the number out of the JSON of the same segments, and counts or copies, with 2 threads. Medians of ${sizes.pairs}, in turn.`,
    markdownTable(titles, [
      row('count, to DuckDB’s', 'count', 'counted'),
      row('export job as CSV, to DuckDB’s copy', 'job', 'copy'),
      row('DuckDB’s count', 'counted'),
      row('DuckDB’s copy', 'copy'),
    ]),
  );
}

/** How a reader learns which files the table has: from the catalogue, and from the files themselves. */
async function benchIceberg({ scope, client, segments, flights, sizes, say }) {
  const duckdb = await openDuckDb(scope);
  const files = segments.slice(segments.indexOf("'"), segments.indexOf(','));
  const loads = 20 * sizes.pairs;
  const ways = {
    load: async () => {
      const path = '/iceberg/v1/namespaces/svcctl/tables/records';
      const { body, elapsedMillis } = await client.get(path);
      const { summary } = body.metadata.snapshots.at(-1);
      if (Number(summary['total-records']) !== flights) throw new Error(JSON.stringify(summary));
      return elapsedMillis;
    },
    footers: async () =>
      (
        await timed(() =>
          duckdb.rowsOf(`select sum(num_rows) from parquet_file_metadata(${files})`),
        )
      )[0],
  };
  say(`iceberg, ${loads} loads`);
  const millis = mapValues(await inTurn(ways, loads, { warmups: 2 }), median);
  return section(
    'Finding the files of the cold tier',
    `A reader of Iceberg loads the table from the catalogue; without one it reads the footers of all files, as DuckDB does here. Medians of ${loads}, in turn.`,
    markdownTable(
      ['', 'time:', 'ratio:', 'goal'],
      [
        [
          'the table from the catalogue, to the footers',
          formatMillis(millis.load),
          ...ratioCells(millis.footers / millis.load),
        ],
        ['DuckDB reads all footers', formatMillis(millis.footers), none, none],
      ],
    ),
  );
}

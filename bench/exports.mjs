import { join } from 'node:path';
import { call, createClient, exportSlice, runExportJob, runRetention } from './lib/client.mjs';
import { openCopy } from './lib/duckdb.mjs';
import { after, browse, inTurn, mapValues, median, summary, timed } from './lib/measure.mjs';
import { watchTree } from './lib/processes.mjs';
import { runSections } from './lib/run-sections.mjs';
import { startAlone, startService, storeFlights } from './lib/service.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  latencyCells,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';
import { generateLeaves, tenantName } from './records/leaves.mjs';

const tenant = 'US';
const sections = { formats: benchFormats, beside: benchBeside, coverage: benchCoverage };

/**
 * How much each kind of run measures. `pairs`: how often ours and the other side take turns. `smallest` only
 * shows that a section still runs.
 */
const allLeaves = { tenants: 200, stores: 417, months: 12 };
const sizes = {
  smallest: {
    ...{ flights: 4000, pairs: 1, warmMillis: 100, idleMillis: 200 },
    leaves: { tenants: 5, stores: 10, months: 12, requests: 3 },
  },
  quick: {
    ...{ flights: 200_000, pairs: 1, warmMillis: 3000, idleMillis: 3000 },
    leaves: { tenants: 20, stores: 84, months: 12, requests: 40 },
  },
  standard: {
    ...{ flights: 3_000_000, pairs: 3, warmMillis: 3000, idleMillis: 15_000 },
    leaves: { ...allLeaves, requests: 200 },
  },
  full: {
    ...{ flights: 3_000_000, pairs: 7, warmMillis: 3000, idleMillis: 30_000 },
    leaves: { ...allLeaves, requests: 1000 },
  },
};

/** Exports as streams and as jobs in all formats, pages beside ten of them, and coverage of many leaves. */
export const runBench = ({ size, only }) =>
  runSections({ name: 'exports', sections, sizes, start: startWorld }, { size, only });

/** A service with all flights in one cold tenant. */
async function startWorld(bench) {
  const { options, flights, coldDir } = await storeFlights(bench, 'exports', {
    ...{ limit: bench.sizes.flights, only: tenant },
    work(side) {
      bench.say('moving them cold');
      return runRetention(side);
    },
  });
  const service = await startService(bench.scope, options);
  return { service, client: createClient(bench.scope, service), flights, coldDir };
}

const formats = ['csv', 'ndjson', 'parquet'];

/** Each format as a stream and as a job, in turn; Parquet also against DuckDB's own copy. */
async function benchFormats({ client, service, flights, coldDir, dir, sizes, say }) {
  const segments = `read_parquet('${coldDir}/records/tenant=*/*.parquet', hive_partitioning = false)`;
  const target = join(dir, 'duckdb.parquet');
  const options = 'format parquet, compression zstd';
  const copy = await openCopy(`select * from ${segments}`, target, options);
  const bytes = {};
  const assertAll = (format, rows) => {
    if (rows !== flights) throw new Error(`${format}: ${rows} rows of ${flights}`);
  };
  const ways = {};
  for (const format of formats) {
    ways[`${format} stream`] = async () => {
      const [millis, { rows }] = await timed(() => exportSlice(client, { tenant }, { format }));
      assertAll(format, rows);
      return millis;
    };
    ways[`${format} job`] = async () => {
      const [millis, job] = await timed(() =>
        runExportJob({ service, client }, format, { tenant }),
      );
      assertAll(format, job.rows_done);
      bytes[format] = job.bytes;
      return millis;
    };
  }
  ways.copy = () => copy.run();
  const onRound = (round) => say(`formats, ${round + 1} of ${sizes.pairs}`);
  const peaks = {};
  const watched = Object.fromEntries(
    Object.entries(ways).map(([name, way]) => [
      name,
      async () => {
        const memory = await watchTree(service.pid, way);
        if (!(peaks[name]?.peakBytes > memory.peakBytes)) peaks[name] = memory;
        return memory.result;
      },
    ]),
  );
  const millis = mapValues(await inTurn(watched, sizes.pairs, { onRound }), median);
  copy.close();
  /** A row, and how much faster it is than another. */
  const row = (title, way, other, wanted) => [
    title,
    formatSeconds(millis[way]),
    formatCount((flights / millis[way]) * 1000),
    ...(other === undefined ? [none, none] : ratioCells(millis[other] / millis[way], wanted)),
  ];
  return section(
    `${formatCount(flights)} cold records of one tenant, in three formats`,
    `Default columns, nothing compressed around the format. Streams go over HTTP to a client that drops the bytes; a job is timed from its request to \`completed\`, its file proved. DuckDB copies all columns of the same segments into one Parquet file (zstd, 2 threads, in order). Medians of ${sizes.pairs}, in turn.`,
    markdownTable(
      ['', 'time:', 'rows/s:', 'ratio:', 'goal'],
      [
        row('CSV, streamed', 'csv stream'),
        row('CSV, job, to the streamed', 'csv job', 'csv stream', '≥ 0.7'),
        row('NDJSON, streamed, to CSV', 'ndjson stream', 'csv stream', '≥ 0.7'),
        row('NDJSON, job', 'ndjson job'),
        row('DuckDB’s own copy to Parquet', 'copy'),
        row('Parquet, streamed, to DuckDB’s copy', 'parquet stream', 'copy', '≥ 0.9'),
        row('Parquet, job, to DuckDB’s copy', 'parquet job', 'copy'),
      ],
    ),
    markdownTable(
      ['', 'file:', 'memory, streamed:', 'of it Node:', 'memory, job:', 'of it Node:', 'goal'],
      formats.map((format) => {
        const [streamed, job] = [peaks[`${format} stream`], peaks[`${format} job`]];
        const most = Math.max(streamed.peakBytes, job.peakBytes);
        return [
          ...[format, formatMiB(bytes[format])],
          ...[streamed.peakBytes, streamed.ownBytes, job.peakBytes, job.ownBytes].map(formatMiB),
          goal('≤ 512 MiB', most),
        ];
      }),
    ),
    'Memory is that of the service and its DuckDB at their peak; what a process has grown to for one format stays for the next.',
  );
}

const jobs = 10;

/** Pages and leaves while ten exports are asked for at once. */
async function benchBeside({ scope, client, service, sizes, say }) {
  const paths = [
    `/api/v1/enrichment/records?tenant=${tenant}&month=2001-03&limit=100`,
    '/api/v1/enrichment/datasets?level=tenant&limit=100',
    `/api/v1/enrichment/datasets?tenant=${tenant}&level=store&limit=100`,
  ];
  const browsers = Array.from({ length: 8 }, () => createClient(scope, service));
  say('pages alone');
  await browse(browsers, paths, after(sizes.warmMillis));
  const idle = await browse(browsers, paths, after(sizes.idleMillis));
  say(`pages beside ${jobs} exports`);
  let isRunning = true;
  const browsing = browse(browsers, paths, () => !isRunning);
  const run = () => runExportJob({ service, client }, 'csv', { tenant });
  const [elapsedMillis] = await timed(() =>
    Promise.all(Array.from({ length: jobs }, run)).finally(() => {
      isRunning = false;
    }),
  );
  const busy = await browsing;
  const ratio = busy.p99 / idle.p99;
  const row = (name, of) => [
    `${name}, ${formatCount(of.count)} requests`,
    ...latencyCells(of),
    none,
  ];
  return section(
    `Pages beside ${jobs} export jobs`,
    `A page of 100 cold records, tenants and stores in turn, fifty times a second whether or not answers have come; meanwhile ${jobs} CSV jobs of all records, of which the service works on two at once. They were done in ${formatSeconds(elapsedMillis)}.`,
    markdownTable(
      ['', 'p50:', 'p99:', 'goal'],
      [
        row('alone', idle),
        row('beside the jobs', busy),
        ['ratio', formatRatio(busy.p50 / idle.p50), formatRatio(ratio), goal('p99 < 1.5', ratio)],
      ],
    ),
  );
}

/** A quarter that begins and ends within a month, of every tenant. */
const window = { from: '2025-03-10', to: '2025-06-20' };

/** Levels of many leaves before and after all tenants were tagged. */
async function benchCoverage({ sizes, say, ...bench }) {
  const size = sizes.leaves;
  const leaves = size.tenants * size.stores * size.months;
  const { service, client, db } = await startAlone(bench, 'coverage');
  say(`generating ${formatCount(leaves)} leaves`);
  await generateLeaves(db, size);
  say('levels without tags');
  const before = await measureLevels(client, size);
  say('tagging');
  const tag = (t) => {
    const body = { ...window, tenant: tenantName(t), dataset: 'training' };
    return timed(() => call(service, 'POST', '/enrichment/tags', body));
  };
  const writes = await inTurn({ tag }, size.tenants);
  say('levels with tags');
  const tagged = await measureLevels(client, size);
  const written = summary(writes.tag.map(([millis]) => millis));
  return section(
    `Coverage of ${formatCount(leaves)} leaves`,
    `${size.tenants} tenants × ${size.stores} stores × ${size.months} months, made up in a database of their own; then each tenant is tagged from ${window.from} to ${window.to}, so that every level has leaves within, without and cut. Writing a tag took ${formatMillis(written.p50)} (p99 ${formatMillis(written.p99)}), whatever it covers.`,
    markdownTable(
      ['', 'untagged p50:', 'tagged p50:', 'ratio:', 'goal', 'tagged p99:'],
      Object.entries(before).map(([name, { p50 }]) => [
        `\`${name}\``,
        formatMillis(p50),
        formatMillis(tagged[name].p50),
        ...ratioCells(tagged[name].p50 / p50, '≤ 2'),
        formatMillis(tagged[name].p99),
      ]),
    ),
  );
}

/** What is asked for, of tenants whose days are there: every tenth. */
const levels = {
  'level=tenant & limit=500': () => 'level=tenant&limit=500',
  'level=store & tenant': (t) => `level=store&tenant=${t}`,
  'level=store & tenant & limit=500': (t) => `level=store&tenant=${t}&limit=500`,
  'level=month & tenant & limit=500': (t) => `level=month&tenant=${t}&limit=500`,
  'level=month & tenant & month': (t) => `level=month&tenant=${t}&month=2025-03&limit=500`,
  'level=tenant & month': () => 'level=tenant&month=2025-03&limit=500',
};

async function measureLevels(client, size) {
  const asking = mapValues(levels, (query) => async (i) => {
    const asked = query(tenantName((i * 10) % size.tenants));
    return (await client.get(`/api/v1/enrichment/datasets?${asked}`)).elapsedMillis;
  });
  return mapValues(await inTurn(asking, size.requests, { warmups: 20 }), summary);
}

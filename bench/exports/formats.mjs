import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { answerOf } from '../lib/client.mjs';
import { watchTree } from '../lib/memory.mjs';
import { median } from '../lib/stats.mjs';
import {
  formatCount,
  formatMiB,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { drain } from '../records/csv-request.mjs';
import { createJob, tenant, untilCompleted } from './world.mjs';

const formats = ['csv', 'ndjson', 'parquet'];

/** Each format as a stream and as a job, in turn; Parquet also against DuckDB's own copy. */
export async function benchFormats({ client, service, flights, coldDir, dir, sizes, say }) {
  const copy = await openCopy(coldDir, join(dir, 'duckdb.parquet'));
  const runs = Object.fromEntries(formats.map((format) => [format, { stream: [], job: [] }]));
  const copies = [];
  const bytes = {};
  const memory = await watchTree(service.pid, async () => {
    for (let i = 0; i < sizes.pairs; i += 1) {
      for (const format of formats) {
        say(`${format}, ${i + 1} of ${sizes.pairs}`);
        runs[format].stream.push(await stream(client, format, flights));
        const job = await runJob({ client, service }, format, flights);
        runs[format].job.push(job.elapsedMillis);
        bytes[format] = job.bytes;
      }
      copies.push(await copy.run());
    }
  });
  copy.close();
  const seconds = (format, way) => median(runs[format][way]) / 1000;
  const ratio = (other, own) => other / own;
  const jobToStream = ratio(seconds('csv', 'stream'), seconds('csv', 'job'));
  const ndjsonToCsv = ratio(seconds('csv', 'stream'), seconds('ndjson', 'stream'));
  const copySeconds = median(copies) / 1000;
  const parquetToCopy = ratio(copySeconds, seconds('parquet', 'stream'));
  const parquetJobToCopy = ratio(copySeconds, seconds('parquet', 'job'));
  const row = (name, own, of, wanted) => [
    name,
    formatSeconds(own * 1000),
    formatCount(flights / own),
    of === null ? none : formatRatio(of),
    wanted ?? none,
  ];
  return [
    `### ${formatCount(flights)} cold records of one tenant, in three formats`,
    `Default columns, nothing compressed around the format. Streams go over HTTP to a client that drops the bytes; a job is timed from its request to \`completed\`, its file proved. DuckDB copies all columns of the same segments into one Parquet file (zstd, 2 threads, in order). Medians of ${sizes.pairs}, in turn.`,
    markdownTable(
      ['', 'time:', 'rows/s:', 'ratio:', 'goal'],
      [
        row('CSV, streamed', seconds('csv', 'stream'), null),
        row(
          'CSV, job, to the streamed',
          seconds('csv', 'job'),
          jobToStream,
          goal('≥ 0.7', jobToStream >= 0.7),
        ),
        row(
          'NDJSON, streamed, to CSV',
          seconds('ndjson', 'stream'),
          ndjsonToCsv,
          goal('≥ 0.7', ndjsonToCsv >= 0.7),
        ),
        row('NDJSON, job', seconds('ndjson', 'job'), null),
        row('DuckDB’s own copy to Parquet', copySeconds, null),
        row(
          'Parquet, streamed, to DuckDB’s copy',
          seconds('parquet', 'stream'),
          parquetToCopy,
          goal('≥ 0.9', parquetToCopy >= 0.9),
        ),
        row('Parquet, job, to DuckDB’s copy', seconds('parquet', 'job'), parquetJobToCopy),
      ],
    ),
    markdownTable(
      ['', 'size:', 'goal'],
      [
        ...formats.map((format) => [`file, ${format}`, formatMiB(bytes[format]), none]),
        [
          'memory of service and DuckDB, peak',
          formatMiB(memory.peakBytes),
          goal('≤ 512 MiB', memory.peakBytes <= 512 * 2 ** 20),
        ],
      ],
    ),
  ].join('\n\n');
}

async function stream(client, format, flights) {
  const startedAt = performance.now();
  const asked = client.open('POST', `/api/v1/exports/${format}`, {
    'content-type': 'application/json',
  });
  asked.end(JSON.stringify({ tenant }));
  const response = await answerOf(asked);
  await drain(response);
  const rows = Number(response.headers['x-record-count']);
  if (response.statusCode !== 200 || rows !== flights) {
    throw new Error(`${format}: ${response.statusCode}, ${rows} rows of ${flights}`);
  }
  return performance.now() - startedAt;
}

async function runJob({ client, service }, format, flights) {
  const startedAt = performance.now();
  const { id } = await createJob(service, format, { tenant });
  const job = await untilCompleted(client, id);
  const elapsedMillis = performance.now() - startedAt;
  if (job.rows_done !== flights) throw new Error(`${format}: ${job.rows_done} rows of ${flights}`);
  return { elapsedMillis, bytes: job.bytes };
}

/** DuckDB as one would use it: all segments to one file. */
async function openCopy(coldDir, target) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  return {
    async run() {
      const startedAt = performance.now();
      await connection.run(`copy (select * from read_parquet('${coldDir}/records/tenant=*/*.parquet',
        hive_partitioning = false)) to '${target}' (format parquet, compression zstd)`);
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

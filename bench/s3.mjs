import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findRealS3, noRealS3, startRealS3 } from '../packages/server/test/real-s3.mjs';
import { createClient, runExportJob, runRetention, verify } from './lib/client.mjs';
import { inTurn, mapValues, median, summary, timed } from './lib/measure.mjs';
import { runSections } from './lib/run-sections.mjs';
import { withScope } from './lib/scope.mjs';
import { coldSettings, startService, storeFlights } from './lib/service.mjs';
import {
  formatCount,
  formatSeconds,
  goal,
  latencyCells,
  markdownTable,
  none,
  ratioCells,
  section,
} from './lib/table.mjs';

const tenant = 'US';
const dayMillis = 86_400_000;
const sections = { moving: benchMoving, pages: benchPages, jobs: benchJobs };

/**
 * How much each kind of run measures. `pairs`: how often S3 and the folder take turns. `starts`: how many processes
 * read their first page. `rows`: how many records a page shows. `smallest` only shows that a section still runs.
 */
const sizes = {
  smallest: { flights: 4000, rows: 10, pairs: 1, requests: 3, starts: 1 },
  quick: { flights: 100_000, rows: 500, pairs: 1, requests: 60, starts: 3 },
  standard: { flights: 400_000, rows: 500, pairs: 3, requests: 300, starts: 5 },
  full: { flights: 3_000_000, rows: 500, pairs: 5, requests: 1000, starts: 9 },
};

/** Moves, cold pages and export jobs on a real S3 server against the same on a folder. */
export async function runBench({ size, only }) {
  const found = findRealS3();
  if (found === null) {
    process.stderr.write(`nothing to measure: ${noRealS3}\n`);
    return [];
  }
  const start = (bench) => startWorld({ ...bench, found });
  return runSections({ name: 's3', sections, sizes, start }, { size, only });
}

/**
 * All flights as one cold tenant, once in a folder and once in S3, with a database each. `sides` are a service on each
 * with the usual settings, and `start` starts others. `moves` has the records moved and the seconds that it took.
 */
async function startWorld(bench) {
  const { scope, dir, sizes, say, found } = bench;
  const s3 = await startRealS3(found);
  scope.defer(() => s3.close());
  say(`the S3 server is ${s3.name}`);
  const stores = {
    file: { SVC_BLOB_URL: pathToFileURL(join(dir, 'cold')).href },
    s3: { ...s3.environment, SVC_BLOB_URL: s3.urlOf('bench') },
  };
  const start = {};
  let flights = 0;
  for (const [name, store] of Object.entries(stores)) {
    const settings = { ...coldSettings, ...store };
    let token;
    const work = async ({ service }) => {
      token = service.token;
    };
    const stored = { limit: sizes.flights, only: tenant, settings, work };
    const made = await storeFlights(bench, `s3_${name}`, stored);
    flights = made.flights;
    let count = 0;
    /** Starts a process on the cold records, in a folder of its own; `more` are settings. */
    start[name] = async (own, more = {}) => {
      count += 1;
      const service = await startService(own, {
        ...{ ...made.options, name: `${name}-${count}`, token },
        settings: { ...settings, ...more },
      });
      return { service, client: createClient(own, service) };
    };
  }
  const sides = { file: await start.file(scope), s3: await start.s3(scope) };
  const moves = await moveInTurn(sides, { turns: sizes.pairs, say });
  return { start, sides, flights, moves, about: `S3: ${s3.name}` };
}

/** Moves everything, in runs of as many days each, in turn: a run to the folder, the same run to S3. */
async function moveInTurn(sides, { turns, say }) {
  const { body } = await sides.file.client.get('/api/v1/enrichment/datasets?level=tenant');
  const { first_at: first, last_at: last } = body.data[0];
  const days = (Date.parse(last) - Date.parse(first)) / dayMillis;
  const moving = mapValues(sides, (side) => async (turn) => {
    const end = new Date(Date.parse(first) + (days * (turn + 1) * dayMillis) / turns);
    const request = turn + 1 < turns ? { before: end.toISOString().slice(0, 10) } : {};
    const run = await runRetention(side, request);
    const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
    return { records: run.moved_count, seconds };
  });
  return inTurn(moving, turns, { onRound: (turn) => say(`moving, ${turn + 1} of ${turns}`) });
}

/** The moves that made the world, and verifications of all that they wrote. */
async function benchMoving({ sides, moves, flights, sizes, say }) {
  for (const runs of Object.values(moves)) {
    const moved = runs.reduce((sum, { records }) => sum + records, 0);
    if (moved !== flights) throw new Error(`${moved} of ${flights} records were moved`);
  }
  const verifying = mapValues(sides, (side) => async () => (await timed(() => verify(side)))[0]);
  const verified = mapValues(
    await inTurn(verifying, sizes.pairs, {
      onRound: (round) => say(`verifying, ${round + 1} of ${sizes.pairs}`),
    }),
    median,
  );
  const perSecond = mapValues(moves, (runs) =>
    median(runs.map(({ records, seconds }) => records / seconds)),
  );
  const row = (title, of, format, ratio) => [
    ...[title, format(of.file), format(of.s3)],
    ...ratioCells(ratio),
  ];
  return section(
    `Moving ${formatCount(flights)} records to S3, and verifying them`,
    `Medians of ${sizes.pairs}, in turn; a move is copied, uploaded, read back from the store and verified. The ratio is that of the times.`,
    markdownTable(
      ['', 'folder:', 'S3:', 'ratio:', 'goal'],
      [
        row('moved, records/s', perSecond, formatCount, perSecond.file / perSecond.s3),
        row('verified, all', verified, formatSeconds, verified.s3 / verified.file),
      ],
    ),
  );
}

const list = (rows) => `/api/v1/enrichment/records?tenant=${tenant}&limit=${rows}`;

/** Pages of cold records: the first of a process, those that must be fetched, and those that are kept. */
async function benchPages({ scope, start, sides, sizes, say }) {
  const rows = [
    ...linesOf('first page of a process', await firstPages({ scope, start, sizes, say })),
    // So few bytes are kept that each page fetches again what it shows.
    ...linesOf(
      'pages, nothing kept',
      await withScope(scope, async (own) => {
        const settings = { SVC_COLD_CACHE_BYTES: '1MiB' };
        const small = { file: await start.file(own, settings), s3: await start.s3(own, settings) };
        return pages(small, sizes);
      }),
      60,
    ),
    ...linesOf('pages, what was fetched is kept', await pages(sides, sizes), 60),
  ];
  return section(
    `Pages of ${sizes.rows} cold records from S3`,
    'Pages anywhere in the records of one tenant, from the folder and from S3 in turn, in processes that are warm; without a cache each page fetches the row groups that it shows and the end of the file, two or three requests to the store.',
    markdownTable(['', 'store', 'p50:', 'p99:', 'goal'], rows),
  );
}

function linesOf(what, times, millis) {
  const { file, s3 } = times;
  const wanted = millis === undefined ? none : goal(`p50 ≤ ${millis} ms`, s3.p50);
  return [
    [what, 'folder', ...latencyCells(file), none],
    ['', 'S3', ...latencyCells(s3), wanted],
  ];
}

async function firstPages({ scope, start, sizes: { rows, starts }, say }) {
  const first = mapValues(
    start,
    (begin) => () =>
      withScope(scope, async (own) => timePage((await begin(own)).client, list(rows), rows)),
  );
  const onRound = (round) => say(`the first page, ${round + 1} of ${starts}`);
  return mapValues(await inTurn(first, starts, { onRound }), summary);
}

async function pages(sides, sizes) {
  const paths = await placesOf(sides.file.client, sizes);
  const asking = mapValues(
    sides,
    ({ client }) =>
      (n) =>
        timePage(client, paths[n % paths.length], sizes.rows),
  );
  return mapValues(await inTurn(asking, sizes.requests, { warmups: 20 }), summary);
}

async function timePage(client, path, rows) {
  const { elapsedMillis, body } = await client.get(path);
  if (body.data.length !== rows) throw new Error(`${body.data.length} records of ${rows}`);
  return elapsedMillis;
}

/** The first and the last page of each store, which stand all over the segments. */
async function placesOf(client, { rows }) {
  const { body } = await client.get(
    `/api/v1/enrichment/datasets?level=store&tenant=${tenant}&limit=500`,
  );
  const stores = body.data.filter(({ count }) => count >= rows).map(({ store }) => store);
  return ['asc', 'desc'].flatMap((order) =>
    stores.map((store) => `${list(rows)}&store=${encodeURIComponent(store)}&order=${order}`),
  );
}

const kinds = [
  { name: 'CSV', format: 'csv', body: {} },
  { name: 'CSV, gzip', format: 'csv', body: { compression: 'gzip' } },
  { name: 'Parquet', format: 'parquet', body: {} },
];

/** Export jobs whose files go to S3, in turn with jobs whose files go to a folder. */
async function benchJobs({ sides, flights, sizes, say }) {
  const rows = [];
  for (const { name, format, body } of kinds) {
    const running = mapValues(sides, (side) => async () => {
      const [millis] = await timed(() => runExportJob(side, format, { tenant, ...body }));
      return millis;
    });
    const onRound = (round) => say(`${name}, ${round + 1} of ${sizes.pairs}`);
    const { file, s3 } = mapValues(await inTurn(running, sizes.pairs, { onRound }), median);
    rows.push([name, formatSeconds(file), formatSeconds(s3), ...ratioCells(s3 / file, '≤ 1.2')]);
  }
  return section(
    `Export jobs of ${formatCount(flights)} cold records to S3`,
    `From the request to \`completed\`, the file proved; the segments are read from the same store. Medians of ${sizes.pairs}, in turn. The server of S3 runs on the same machine and shares its processors.`,
    markdownTable(['', 'folder:', 'S3:', 'ratio:', 'goal'], rows),
  );
}

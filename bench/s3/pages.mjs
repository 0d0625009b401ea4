import { summary } from '../lib/latency.mjs';
import { withScope } from '../lib/scope.mjs';
import { formatMillis, goal, markdownTable, none } from '../lib/table.mjs';
import { tenant } from './world.mjs';

const list = (rows) => `/api/v1/enrichment/records?tenant=${tenant}&limit=${rows}`;

/** Pages of cold records: the first of a process, those that must be fetched, and those that are kept. */
export async function benchPages({ scope, start, sides, sizes, say }) {
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
  return [
    `### Pages of ${sizes.rows} cold records from S3`,
    'Pages anywhere in the records of one tenant, from the folder and from S3 in turn, in processes that are warm; without a cache each page fetches the row groups that it shows and the end of the file, two or three requests to the store.',
    markdownTable(['', 'store', 'p50:', 'p99:', 'goal'], rows),
  ].join('\n\n');
}

function linesOf(what, { file, s3 }, millis) {
  const wanted = millis === undefined ? none : goal(`p50 ≤ ${millis} ms`, s3.p50 <= millis);
  return [
    [what, 'folder', formatMillis(file.p50), formatMillis(file.p99), none],
    ['', 'S3', formatMillis(s3.p50), formatMillis(s3.p99), wanted],
  ];
}

async function firstPages({ scope, start, sizes: { rows, starts }, say }) {
  const times = { file: [], s3: [] };
  for (let n = 0; n < starts; n += 1) {
    for (const [name, taken] of Object.entries(times)) {
      say(`the first page, ${n + 1} of ${starts}: ${name}`);
      await withScope(scope, async (own) => {
        const { client } = await start[name](own);
        taken.push(await timePage(client, list(rows), rows));
      });
    }
  }
  return { file: summary(times.file), s3: summary(times.s3) };
}

async function pages(sides, sizes) {
  const paths = await placesOf(sides.file.client, sizes);
  const times = { file: [], s3: [] };
  for (let n = 0; n < warmups + sizes.requests; n += 1) {
    for (const [name, { client }] of Object.entries(sides)) {
      const millis = await timePage(client, paths[n % paths.length], sizes.rows);
      if (n >= warmups) times[name].push(millis);
    }
  }
  return { file: summary(times.file), s3: summary(times.s3) };
}

async function timePage(client, path, rows) {
  const { elapsedMillis, body } = await client.get(path);
  if (body.data.length !== rows) throw new Error(`${body.data.length} records of ${rows}`);
  return elapsedMillis;
}

const warmups = 20;

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

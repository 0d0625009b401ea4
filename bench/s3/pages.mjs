import { summary } from '../lib/latency.mjs';
import { withScope } from '../lib/scope.mjs';
import { formatMillis, goal, markdownTable, none } from '../lib/table.mjs';
import { tenant } from './world.mjs';

const list = (rows) => `/api/v1/enrichment/records?tenant=${tenant}&limit=${rows}`;

/** Pages of 500 cold records: the first of a process, those that must be fetched, and those that are kept. */
export async function benchPages({ scope, start, sizes, say }) {
  const rows = [];
  for (const name of ['file', 's3']) {
    say(`pages: ${name}`);
    const firsts = [];
    for (let n = 0; n < sizes.starts; n += 1) {
      firsts.push(await withScope(scope, (own) => firstPage(own, start[name], sizes)));
    }
    const fetched = await withScope(scope, (own) =>
      // So few bytes are kept that each page fetches again what it shows.
      pages(own, { start: start[name], sizes, settings: { SVC_COLD_CACHE_BYTES: '1MiB' } }),
    );
    const kept = await withScope(scope, (own) =>
      pages(own, { start: start[name], sizes, settings: {} }),
    );
    rows.push(
      line(name, 'first page of a process', summary(firsts), () => none),
      line(name, 'pages, nothing kept', fetched, wanted(name, 60)),
      line(name, 'pages, what was fetched is kept', kept, wanted(name, 60)),
    );
  }
  return [
    `### Pages of ${sizes.rows} cold records from S3`,
    'Pages anywhere in the records of one tenant, one after the other, in a process that is warm; without a cache each page fetches the row groups that it shows and the end of the file, two or three requests to the store.',
    markdownTable(['store', '', 'p50:', 'p99:', 'goal'], rows),
  ].join('\n\n');
}

function wanted(name, millis) {
  return ({ p50 }) => (name === 's3' ? goal(`p50 ≤ ${millis} ms`, p50 <= millis) : none);
}

function line(name, what, times, goalOf) {
  const store = name === 's3' ? 'S3' : 'folder';
  return [store, what, formatMillis(times.p50), formatMillis(times.p99), goalOf(times)];
}

async function firstPage(own, start, { rows }) {
  const { client } = await start(own);
  const { elapsedMillis, body } = await client.get(list(rows));
  assertPage(body, rows);
  return elapsedMillis;
}

async function pages(own, { start, sizes, settings }) {
  const { client } = await start(own, settings);
  const paths = await placesOf(client, sizes);
  const times = [];
  for (let n = 0; n < warmups + sizes.requests; n += 1) {
    const { elapsedMillis, body } = await client.get(paths[n % paths.length]);
    assertPage(body, sizes.rows);
    if (n >= warmups) times.push(elapsedMillis);
  }
  return summary(times);
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

function assertPage(body, rows) {
  if (body.data.length !== rows) throw new Error(`${body.data.length} records of ${rows}`);
}

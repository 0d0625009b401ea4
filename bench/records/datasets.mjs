import { barePath, startBareHandler } from '../lib/bare.mjs';
import { answerOf, createClient } from '../lib/client.mjs';
import { compareLatency, summary } from '../lib/latency.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
} from '../lib/table.mjs';
import { datasetCases, limitedTenants } from './dataset-cases.mjs';
import { generateLeaves } from './generate-leaves.mjs';

const path = '/api/v1/enrichment/datasets';
const pageRows = 500;

/** The tree's rows at every level against a bare handler of the same statements. */
export async function benchDatasets({ scope, dir, postgres, sizes, say }) {
  const size = sizes.datasets;
  const leaves = size.tenants * size.stores * size.months;
  const url = await postgres.createDatabase(scope, 'bench_datasets');
  const service = await startService(scope, { dir, name: 'datasets', databaseUrl: url });
  say(`datasets: generating ${formatCount(leaves)} leaves`);
  await generateLeaves(await connect(scope, url), size);

  const tenants = limitedTenants(size);
  const ours = createClient(scope, service);
  const limited = createClient(scope, { ...service, token: await makeToken(ours, tenants) });
  const bare = createClient(scope, await startBareHandler(scope, url));

  say('datasets: walking over all leaves');
  const walk = await walkLeaves(ours, leaves);
  const rows = [];
  for (const { name, request, isLimited } of datasetCases(size, walk.places)) {
    say(`datasets: ${name}`);
    const clients = { ours: isLimited ? limited : ours, bare };
    const paths = (i) => pathsOf(request(i), isLimited ? tenants : null);
    await assertSameRows(clients, paths(0), request(0));
    rows.push({ name, ...(await compareLatency(clients, paths, size.requests)) });
  }
  return report(rows, { leaves, walk, size });
}

function pathsOf({ level, filters, limit, hasDays, place }, tenants) {
  const asked = new URLSearchParams({ level, ...filters, limit: String(limit) });
  if (hasDays) asked.set('include', 'days');
  if (place !== undefined) asked.set('cursor', place.cursor);
  const page = { after: place?.after ?? null, limit: limit + 1 };
  const query = hasDays ? 'datasetsWithDays' : 'datasets';
  return {
    ours: `${path}?${asked}`,
    bare: barePath(query, level, { ...filters, tenants }, page),
  };
}

async function assertSameRows({ ours, bare }, paths, { limit }) {
  const own = (await ours.get(paths.ours)).body.data;
  const { body } = await bare.get(paths.bare);
  const other = (body.rows ?? body).slice(0, limit);
  const names = (rows) => JSON.stringify(rows.map((row) => [row.tenant, row.store, row.month]));
  if (names(own) === names(other)) return;
  throw new Error(`ours and the bare handler differ: ${paths.ours}`);
}

/** Every leaf, page by page; keeps some places on the way, far in. */
async function walkLeaves(client, leaves) {
  const places = [];
  const times = [];
  const keptEvery = Math.max(1, Math.floor(leaves / pageRows / 40));
  let seen = 0;
  let cursor = null;
  do {
    const asked = new URLSearchParams({ limit: String(pageRows) });
    if (cursor !== null) asked.set('cursor', cursor);
    const { body, elapsedMillis } = await client.get(`${path}?${asked}`);
    times.push(elapsedMillis);
    seen += body.data.length;
    cursor = body.next_cursor;
    const { tenant, store, month } = body.data.at(-1);
    const isDeep = seen > leaves / 2 && seen < leaves - pageRows;
    if (isDeep && times.length % keptEvery === 0)
      places.push({ cursor, after: [tenant, store, month] });
  } while (cursor !== null);
  if (seen !== leaves) throw new Error(`the walk saw ${seen} of ${leaves} leaves`);
  return {
    places,
    pages: times.length,
    totalMillis: times.reduce((a, b) => a + b),
    ...summary(times),
  };
}

async function makeToken(client, tenants) {
  const asked = client.open('POST', '/api/v1/tokens', { 'content-type': 'application/json' });
  asked.end(JSON.stringify({ name: 'bench', preset: 'support-readonly', tenants }));
  const response = await answerOf(asked);
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  if (response.statusCode !== 201) throw new Error(`tokens: ${response.statusCode} ${text}`);
  return JSON.parse(text).token;
}

function report(rows, { leaves, walk, size }) {
  const cells = rows.map(({ name, ours, bare, ratio }) => [
    `\`${name}\``,
    formatMillis(ours.p50),
    formatMillis(bare.p50),
    formatRatio(ratio),
    goal('≤ 1.5', ratio <= 1.5),
    formatMillis(ours.p99),
    formatMillis(bare.p99),
    goal('< 50 ms', ours.p99 < 50),
  ]);
  return [
    `### Datasets: ${formatCount(leaves)} leaves`,
    `${size.tenants} tenants × ${size.stores} stores × ${size.months} months, generated in a database of their own. \`GET /enrichment/datasets\` against a bare node:http handler of the same statements; ${size.requests} requests a side, in turn, pages of 100 unless said.`,
    markdownTable(
      ['', 'ours p50:', 'bare p50:', 'ratio:', 'goal', 'ours p99:', 'bare p99:', 'goal'],
      cells,
    ),
    `A walk over all ${formatCount(leaves)} leaves, ${formatCount(walk.pages)} pages of ${pageRows}: ${formatSeconds(walk.totalMillis)}, p50 ${formatMillis(walk.p50)}, p99 ${formatMillis(walk.p99)}.`,
  ].join('\n\n');
}

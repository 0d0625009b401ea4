import { barePath, startBare } from '../lib/bare.mjs';
import { call, createClient, pagesOf } from '../lib/client.mjs';
import { compareLatencies, summary } from '../lib/measure.mjs';
import { startAlone } from '../lib/service.mjs';
import {
  formatCount,
  formatMillis,
  formatSeconds,
  goal,
  markdownTable,
  ratioCells,
  section,
} from '../lib/table.mjs';
import { generateLeaves, storeName, tenantName } from './leaves.mjs';

const path = '/api/v1/enrichment/datasets';
const pageRows = 500;

/** The tree's rows at every level against a bare server of the same statements. */
export async function benchDatasets({ sizes, say, ...bench }) {
  const size = sizes.datasets;
  const leaves = size.tenants * size.stores * size.months;
  const { databaseUrl, service, client: ours, db } = await startAlone(bench, 'datasets');
  say(`datasets: generating ${formatCount(leaves)} leaves`);
  await generateLeaves(db, size);

  const tenants = limitedTenants(size);
  const asked = { name: 'bench', preset: 'support-readonly', tenants };
  const { token } = await call(service, 'POST', '/tokens', asked);
  const limited = createClient(bench.scope, { ...service, token });
  const bare = createClient(bench.scope, await startBare(bench.scope, 'queries', databaseUrl));

  say('datasets: walking over all leaves');
  const walk = await walkLeaves(ours, leaves);
  const rows = [];
  for (const { name, request, isLimited } of datasetCases(size, walk.places)) {
    say(`datasets: ${name}`);
    const clients = { ours: isLimited ? limited : ours, bare };
    const paths = (i) => pathsOf(request(i), isLimited ? tenants : null);
    await assertSameRows(clients, paths(0), request(0));
    const [found] = await compareLatencies(clients, [paths], size.requests);
    rows.push([
      `\`${name}\``,
      formatMillis(found.ours.p50),
      formatMillis(found.bare.p50),
      ...ratioCells(found.ratio, '≤ 1.5'),
      formatMillis(found.ours.p99),
      formatMillis(found.bare.p99),
      goal('< 50 ms', found.ours.p99),
    ]);
  }
  return section(
    `Datasets: ${formatCount(leaves)} leaves`,
    `${size.tenants} tenants × ${size.stores} stores × ${size.months} months, generated in a database of their own. \`GET /enrichment/datasets\` against a bare node:http handler of the same statements; ${size.requests} requests a side, in turn, pages of 100 unless said.`,
    markdownTable(
      ['', 'ours p50:', 'bare p50:', 'ratio:', 'goal', 'ours p99:', 'bare p99:', 'goal'],
      rows,
    ),
    `A walk over all ${formatCount(leaves)} leaves, ${formatCount(walk.pages)} pages of ${pageRows}: ${formatSeconds(walk.totalMillis)}, p50 ${formatMillis(walk.p50)}, p99 ${formatMillis(walk.p99)}.`,
  );
}

/**
 * What is asked of the tree: each case gives the i-th request, other names each time. `deep` are places
 * far into the list of all leaves; a case with `isLimited` asks with a token for a tenth of the tenants.
 */
function datasetCases({ tenants, stores }, deep) {
  const t = (i) => tenantName((i * 7) % tenants);
  const s = (i) => storeName((i * 13) % stores);
  const month = (i) => `2025-${String((i % 12) + 1).padStart(2, '0')}`;
  /** Tenants whose days are there. */
  const withDays = (i) => ({ tenant: tenantName((i * 10) % tenants) });
  return [
    level('tenant'),
    level('tenant', () => ({ q: 'tenant-01' })),
    level('tenant', (i) => ({ month: month(i) })),
    level('tenant', (i) => ({ store: s(i) })),
    level('tenant', (i) => ({ store: s(i), month: month(i) })),
    level('store'),
    level('store', (i) => ({ tenant: t(i) })),
    level('store', (i) => ({ tenant: t(i), q: 'store-00' })),
    level('store', () => ({ q: 'store-004' })),
    level('store', () => ({ q: 'none' })),
    level('store', (i) => ({ month: month(i) })),
    level('store', (i) => ({ month: month(i), q: 'store-0007' })),
    level('store', (i) => ({ store: s(i) })),
    level('store', () => ({ q: 'store-004' }), { isLimited: true }),
    level('month'),
    level('month', (i) => ({ tenant: t(i) })),
    level('month', (i) => ({ tenant: t(i), store: s(i) })),
    level('month', (i) => ({ tenant: t(i), month: month(i) })),
    level('month', (i) => ({ month: month(i) })),
    level('month', (i) => ({ month: month(i) }), { isLimited: true }),
    level('month', (i) => ({ store: s(i) })),
    level('month', () => ({ q: '2025-1' })),
    level('month', () => ({ q: '2024' })),
    level('month', withDays, { hasDays: true }),
    level('month', withDays, { hasDays: true, limit: 500 }),
    level('month', () => ({}), { limit: 500 }),
    level('month', () => ({}), { place: (i) => deep[i % deep.length] }),
  ];
}

/**
 * @param {string} name
 * @param {(i: number) => Record<string, string>} filters
 * @param {{ isLimited?: boolean, hasDays?: boolean, limit?: number, place?: (i: number) => unknown }} options
 */
function level(name, filters = () => ({}), options = {}) {
  const { isLimited = false, hasDays = false, limit = 100, place = () => undefined } = options;
  const words = [`level=${name}`];
  for (const [filter, value] of Object.entries(filters(0))) {
    words.push(filter === 'q' ? `q=${value}` : filter);
  }
  if (hasDays) words.push('include=days');
  if (limit !== 100) words.push(`limit=${limit}`);
  if (options.place !== undefined) words.push('cursor=(far in)');
  return {
    name: words.join(' & ') + (isLimited ? ' (token of some tenants)' : ''),
    isLimited,
    request: (i) => ({ level: name, filters: filters(i), limit, hasDays, place: place(i) }),
  };
}

/** The tenants of the limited token. */
function limitedTenants({ tenants }) {
  const names = Array.from({ length: Math.ceil(tenants / 10) }, (_, i) => tenantName(i * 10 + 3));
  return names.filter((name) => name < tenantName(tenants));
}

function pathsOf({ level, filters, limit, hasDays, place }, tenants) {
  const asked = new URLSearchParams({ level, ...filters, limit: String(limit) });
  if (hasDays) asked.set('include', 'days');
  if (place !== undefined) asked.set('cursor', place.cursor);
  const page = { after: place?.after ?? null, limit: limit + 1 };
  const query = hasDays ? 'datasetsWithDays' : 'datasets';
  return { ours: `${path}?${asked}`, bare: barePath(query, level, { ...filters, tenants }, page) };
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
  for await (const { body, elapsedMillis } of pagesOf(client, `${path}?limit=${pageRows}`)) {
    times.push(elapsedMillis);
    seen += body.data.length;
    const { tenant, store, month } = body.data.at(-1);
    const isDeep = seen > leaves / 2 && seen < leaves - pageRows;
    if (isDeep && times.length % keptEvery === 0)
      places.push({ cursor: body.next_cursor, after: [tenant, store, month] });
  }
  if (seen !== leaves) throw new Error(`the walk saw ${seen} of ${leaves} leaves`);
  const totalMillis = times.reduce((a, b) => a + b);
  return { places, pages: times.length, totalMillis, ...summary(times) };
}

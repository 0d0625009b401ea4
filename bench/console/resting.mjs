import { createClient } from '../lib/client.mjs';
import { compareLatencies } from '../lib/measure.mjs';
import { startAlone } from '../lib/service.mjs';
import {
  formatCount,
  goal,
  latencyCells,
  markdownTable,
  none,
  ratioCells,
  section,
} from '../lib/table.mjs';
import { generateLeaves } from '../records/leaves.mjs';

/** What a page asks the service for while nobody touches it: its poll, once each half minute. */
export async function benchIdle({ scope, browser, sizes, say }) {
  const page = await browser.openPage(scope);
  await page.goto('/#/records?tenant=records&store=store&month=2025-01&open=records/store');
  await page.locator('tbody tr[data-key]').first().waitFor();
  await page.waitForLoadState('networkidle');
  const asked = new Map();
  page.on('request', (request) => {
    const url = new URL(request.url());
    // What may be opened next is loaded once while the page rests.
    if (url.pathname.startsWith('/assets/')) return;
    const name = `${request.method()} ${url.pathname}${url.search}`;
    asked.set(name, (asked.get(name) ?? 0) + 1);
  });
  say(`idle: watching for ${sizes.idleMillis / 1000} s`);
  await page.waitForTimeout(sizes.idleMillis);
  const most = Math.ceil(sizes.idleMillis / 30_000);
  const rows = [...asked].map(([name, times]) => [
    `\`${name}\``,
    times,
    goal(`≤ ${most}`, times <= most && name.startsWith('GET /api/')),
  ]);
  const total = [...asked.values()].reduce((sum, times) => sum + times, 0);
  return section(
    'An idle page',
    `A chosen month with its records, left alone for ${sizes.idleMillis / 1000} s: ${total} requests.`,
    ...(rows.length === 0 ? [] : [markdownTable(['request', 'times:', 'goal'], rows)]),
  );
}

const path = '/api/v1/stats/overview';
/** Leaves of the same tenants, a thousandth of them. */
const few = { stores: 5, months: 10 };

/** What OVERVIEW asks for, with all leaves and with few of the same tenants, in turn; both stored records for months. */
export async function benchOverview({ service, db, sizes, ...bench }) {
  const { tenants, stores, months } = sizes.leaves;
  const small = await startAlone(bench, 'overview');
  await generateLeaves(small.db, { tenants, ...few, hasDays: false });
  await generateStored(small.db);
  await generateStored(db);
  const clients = { ours: createClient(bench.scope, service), bare: small.client };
  const paths = () => ({ ours: path, bare: path });
  const [times] = await compareLatencies(clients, [paths], sizes.overviews);
  return section(
    'OVERVIEW',
    `\`GET ${path}\` of ${formatCount(tenants)} tenants that stored records in each of the last hours and days; ${sizes.overviews} each, in turn.`,
    markdownTable(
      ['leaves:', 'p50:', 'p99:', 'ratio:', 'goal'],
      [
        [formatCount(tenants * few.stores * few.months), ...latencyCells(times.bare), none, none],
        [
          formatCount(tenants * stores * months),
          ...latencyCells(times.ours),
          ...ratioCells(times.ratio, '≤ 1.3'),
        ],
      ],
    ),
  );
}

/** Fills the counters of what was stored: each hour of nine days, and each of 99 days before today. */
async function generateStored(db) {
  await db.query(`insert into stored_hours (tenant, hour, count, bytes)
    select tenant, date_trunc('hour', now(), 'UTC') - make_interval(hours => ago), 100, 42000
    from leaf_tenants cross join generate_series(1, 215) ago on conflict do nothing`);
  await db.query(`insert into stored_days
    select tenant, (now() at time zone 'UTC')::date - ago, 2400, 1008000, 1000, 420000, 1400, 588000
    from leaf_tenants cross join generate_series(1, 99) ago on conflict do nothing`);
  for (const [table, at] of [
    ['stored_hours', 'hour'],
    ['stored_days', 'day'],
  ]) {
    await db.query(`insert into ${table} (tenant, ${at}, count, bytes)
      select '', ${at}, sum(count), sum(bytes) from ${table} where tenant <> '' group by ${at} on conflict do nothing`);
  }
  await db.query('vacuum (analyze) stored_hours, stored_days');
}

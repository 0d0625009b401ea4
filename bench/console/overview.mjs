import { createClient } from '../lib/client.mjs';
import { compareLatency } from '../lib/latency.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { generateLeaves } from '../records/generate-leaves.mjs';

const path = '/api/v1/stats/overview';
/** Leaves of the same tenants, a thousandth of them. */
const few = { stores: 5, months: 10 };
const goalRatio = 1.3;

/** What OVERVIEW asks for, with all leaves and with few of the same tenants, in turn; both stored records for months. */
export async function benchOverview({ scope, dir, postgres, service, databaseUrl, sizes }) {
  const { tenants, stores, months } = sizes.leaves;
  const url = await postgres.createDatabase(scope, 'bench_overview');
  const small = await startService(scope, { dir, name: 'overview', databaseUrl: url });
  const db = await connect(scope, url);
  await generateLeaves(db, { tenants, ...few, hasDays: false });
  await generateStored(db);
  await generateStored(await connect(scope, databaseUrl));
  const clients = { ours: createClient(scope, service), bare: createClient(scope, small) };
  const times = await compareLatency(clients, () => ({ ours: path, bare: path }), sizes.overviews);
  const row = (leaves, { p50, p99 }, ratio) => [
    formatCount(leaves),
    formatMillis(p50),
    formatMillis(p99),
    ratio === null ? none : formatRatio(ratio),
    ratio === null ? none : goal(`≤ ${goalRatio}`, ratio <= goalRatio),
  ];
  return [
    '### OVERVIEW',
    `\`GET ${path}\` of ${formatCount(tenants)} tenants that stored records in each of the last hours and days; ${sizes.overviews} each, in turn.`,
    markdownTable(
      ['leaves:', 'p50:', 'p99:', 'ratio:', 'goal'],
      [
        row(tenants * few.stores * few.months, times.bare, null),
        row(tenants * stores * months, times.ours, times.ratio),
      ],
    ),
  ].join('\n\n');
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

import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';
import { formatCount, formatMillis, formatRatio, goal, markdownTable } from '../lib/table.mjs';
import { generateLeaves } from '../records/generate-leaves.mjs';
import { send } from '../retention/world.mjs';

const path = '/api/v1/enrichment/datasets';
/** A quarter that begins and ends within a month, of every tenant. */
const window = { from: '2025-03-10', to: '2025-06-20' };

/** Levels of many leaves before and after all tenants were tagged. */
export async function benchCoverage({ scope, dir, postgres, sizes, say }) {
  const size = sizes.leaves;
  const leaves = size.tenants * size.stores * size.months;
  const databaseUrl = await postgres.createDatabase(scope, 'bench_coverage');
  const service = await startService(scope, { dir, name: 'coverage', databaseUrl });
  say(`generating ${formatCount(leaves)} leaves`);
  const db = await connect(scope, databaseUrl);
  await generateLeaves(db, size);
  const client = createClient(scope, service);
  say('levels without tags');
  const before = await measure(client, size);
  say('tagging');
  const writes = [];
  for (let t = 0; t < size.tenants; t += 1) {
    const startedAt = performance.now();
    await send(service, 'POST', '/enrichment/tags', {
      ...window,
      tenant: tenantName(t),
      dataset: 'training',
    });
    writes.push(performance.now() - startedAt);
  }
  say('levels with tags');
  const after = await measure(client, size);
  const written = summary(writes);
  return [
    `### Coverage of ${formatCount(leaves)} leaves`,
    `${size.tenants} tenants × ${size.stores} stores × ${size.months} months, made up in a database of their own; then each tenant is tagged from ${window.from} to ${window.to}, so that every level has leaves within, without and cut. Writing a tag took ${formatMillis(written.p50)} (p99 ${formatMillis(written.p99)}), whatever it covers.`,
    markdownTable(
      ['', 'untagged p50:', 'tagged p50:', 'ratio:', 'goal', 'tagged p99:'],
      before.map(({ name, times }, i) => {
        const ratio = after[i].times.p50 / times.p50;
        return [
          `\`${name}\``,
          formatMillis(times.p50),
          formatMillis(after[i].times.p50),
          formatRatio(ratio),
          goal('≤ 2', ratio <= 2),
          formatMillis(after[i].times.p99),
        ];
      }),
    ),
  ].join('\n\n');
}

/** What is asked for, of tenants whose days are there: every tenth. */
const cases = [
  { name: 'level=tenant & limit=500', query: () => 'level=tenant&limit=500' },
  { name: 'level=store & tenant', query: (t) => `level=store&tenant=${t}` },
  { name: 'level=store & tenant & limit=500', query: (t) => `level=store&tenant=${t}&limit=500` },
  { name: 'level=month & tenant & limit=500', query: (t) => `level=month&tenant=${t}&limit=500` },
  {
    name: 'level=month & tenant & month',
    query: (t) => `level=month&tenant=${t}&month=2025-03&limit=500`,
  },
  { name: 'level=tenant & month', query: () => 'level=tenant&month=2025-03&limit=500' },
];

async function measure(client, size) {
  const results = [];
  for (const { name, query } of cases) {
    const times = [];
    for (let i = 0; i < size.requests + 20; i += 1) {
      const { elapsedMillis } = await client.get(
        `${path}?${query(tenantName((i * 10) % size.tenants))}`,
      );
      if (i >= 20) times.push(elapsedMillis);
    }
    results.push({ name, times: summary(times) });
  }
  return results;
}

function tenantName(t) {
  return `tenant-${String(t).padStart(3, '0')}`;
}

import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../lib/client.mjs';
import { summary } from '../lib/latency.mjs';
import { watchTree } from '../lib/memory.mjs';
import {
  formatCount,
  formatMiB,
  formatMillis,
  formatRatio,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { listTenants, runRetention, tenant } from './world.mjs';

const intervalMillis = 20;

const paths = [
  `/api/v1/enrichment/records?tenant=${tenant}&month=2001-03&limit=100`,
  '/api/v1/enrichment/datasets?level=tenant&limit=100',
  `/api/v1/enrichment/datasets?tenant=${tenant}&level=store&limit=100`,
];

/** Moves everything cold, while a client browses; the same digests come out before and after. */
export async function benchMoving({ scope, service, client, flights, sizes, say }) {
  // A connection each, so that one slow answer does not hold up the next request.
  const browsers = Array.from({ length: 8 }, () => createClient(scope, service));
  const idleUntil = performance.now() + sizes.idleMillis;
  const idle = await browse(browsers, () => performance.now() > idleUntil);
  const before = await listTenants(client);
  say('moving everything cold');
  let isMoving = true;
  const memory = await watchTree(service.pid, async () => {
    const browsing = browse(browsers, () => !isMoving);
    const run = await runRetention({ service, client }, {}).finally(() => {
      isMoving = false;
    });
    return { run, busy: await browsing };
  });
  const { run, busy } = memory.result;
  const after = await listTenants(client);
  assertUnchanged(before, after);
  if (run.moved_count !== flights) throw new Error(`moved ${run.moved_count} of ${flights}`);
  const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
  const perSecond = run.moved_count / seconds;
  const ratio = busy.p99 / idle.p99;
  const peak = memory.peakBytes;
  return [
    `### Moving ${formatCount(flights)} records of ${after.length} tenants`,
    'Copied, read back and verified, switched; clients ask for pages and leaves meanwhile, fifty times a second. Memory is that of a fresh service and its DuckDB processes together, shared pages counted once, without PostgreSQL.',
    markdownTable(
      ['', 'value:', 'goal'],
      [
        ['records/s', formatCount(perSecond), goal('≥ 50,000', perSecond >= 50_000)],
        ['API p50, idle', formatMillis(idle.p50), none],
        ['API p50, while moving', formatMillis(busy.p50), none],
        [`API p99, idle, ${formatCount(idle.count)} requests`, formatMillis(idle.p99), none],
        [
          `API p99, while moving, ${formatCount(busy.count)} requests`,
          formatMillis(busy.p99),
          none,
        ],
        ['ratio of the p99', formatRatio(ratio), goal('≤ 1.5', ratio <= 1.5)],
        ['memory, peak', formatMiB(peak), goal('< 512 MB', peak < 512e6)],
      ],
    ),
  ].join('\n\n');
}

/** Asks fifty times a second, whether or not answers have come, until `isOver`. */
async function browse(clients, isOver) {
  const times = [];
  const asked = [];
  while (!isOver()) {
    const at = asked.length;
    asked.push(
      clients[at % clients.length].get(paths[at % paths.length]).then(({ elapsedMillis }) => {
        times.push(elapsedMillis);
      }),
    );
    await delay(intervalMillis);
  }
  await Promise.all(asked);
  return { ...summary(times), count: times.length };
}

function assertUnchanged(before, after) {
  const plain = (rows) =>
    JSON.stringify(rows.map(({ tier: _tier, stored_bytes: _stored, ...row }) => row));
  if (plain(before) !== plain(after)) throw new Error('the leaves changed by the move');
  if (after.some((row) => row.tier !== 'cold')) throw new Error('not all is cold');
}

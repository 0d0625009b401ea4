import { summary } from '../lib/latency.mjs';
import { formatCount, formatMillis, formatRatio, goal, markdownTable } from '../lib/table.mjs';
import { tenantName } from './shape.mjs';

const datasets = '/api/v1/enrichment/datasets';
const records = '/api/v1/enrichment/records';
const warmups = 5;

/**
 * What is asked for. `tenant` is another one for each request, spread over all of them.
 *
 * @type {[string, (place: { tenant: string, month: string }) => string][]}
 */
const cases = [
  // The smallest world has ten tenants: pages of both have as many rows.
  ['tenants', () => `${datasets}?level=tenant&limit=10`],
  ['tenants of a month', () => `${datasets}?level=tenant&month=2023-05&limit=10`],
  ['tenants by prefix', ({ tenant }) => `${datasets}?level=tenant&q=${tenant.slice(0, -1)}`],
  ['stores of a tenant', ({ tenant }) => `${datasets}?level=store&tenant=${tenant}`],
  ['months of a tenant', ({ tenant }) => `${datasets}?tenant=${tenant}`],
  ['leaves of a store of all tenants', () => `${datasets}?store=store-2`],
  ['months with days', ({ tenant }) => `${datasets}?tenant=${tenant}&include=days`],
  [
    'records: first page of a leaf',
    ({ tenant, month }) => `${records}?tenant=${tenant}&store=store-1&month=${month}`,
  ],
  ['records: first page of a tenant', ({ tenant }) => `${records}?tenant=${tenant}`],
  ['records: last page of a tenant', ({ tenant }) => `${records}?tenant=${tenant}&order=desc`],
  [
    'records: last page of the largest tenant',
    () => `${records}?tenant=${tenantName(0)}&order=desc`,
  ],
];

/** The tree and pages, request by request in turn of both worlds. */
export async function benchReading({ small, large, sizes }) {
  const rows = [];
  for (const [title, path] of cases) {
    const times = { small: [], large: [] };
    for (let i = 0; i < warmups + sizes.requests; i += 1) {
      for (const [name, world] of Object.entries({ small, large })) {
        const { elapsedMillis } = await world.client.get(path(place(world, i)));
        if (i >= warmups) times[name].push(elapsedMillis);
      }
    }
    const [before, after] = [summary(times.small), summary(times.large)];
    const [p50, p99] = [after.p50 / before.p50, after.p99 / before.p99];
    rows.push([
      title,
      ...[before.p50, after.p50].map(formatMillis),
      formatRatio(p50),
      goal('≤ 1.3', p50 <= 1.3),
      ...[before.p99, after.p99].map(formatMillis),
      formatRatio(p99),
      goal('≤ 1.3', p99 <= 1.3),
    ]);
  }
  return [
    `### Reading ${formatCount(large.records)} records`,
    `${sizes.requests} requests each, in turn, pages of 100 (of tenants 10, since the small world has no more). Tenants are spread over all there are, so that most pages of the large world open a segment that was never opened before.`,
    markdownTable(
      [
        '',
        'small p50:',
        'large p50:',
        'ratio:',
        'goal',
        'small p99:',
        'large p99:',
        'ratio:',
        'goal',
      ],
      rows,
    ),
  ].join('\n\n');
}

/** A tenant and a month for the i-th request. 7,919 is prime, so that many tenants come before one comes again. */
function place({ tenants }, i) {
  return {
    tenant: tenantName(1 + ((i * 7919) % (tenants - 1))),
    month: `${2021 + (i % 5)}-${String(1 + (i % 12)).padStart(2, '0')}`,
  };
}

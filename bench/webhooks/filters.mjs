import { inTurn, median, summary } from '../lib/measure.mjs';
import { postAll, rateOf } from '../lib/post-all.mjs';
import { treeCpuMillis } from '../lib/processes.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  latencyCells,
  markdownTable,
  section,
} from '../lib/table.mjs';
import { payloadOf } from './payload.mjs';
import { startWorld } from './world.mjs';

const clients = 16;

/**
 * Incidents of tenants that differ in the filters of their endpoints. Each incident has one delivery, and nothing is sent.
 */
export async function benchFilters({ sizes, say, ...bench }) {
  const { requests, pairs, endpoints } = sizes.filters;
  const world = await startWorld(bench, 'filters', 'api');
  const url = 'http://127.0.0.1:9/never-sent';
  const tenants = {
    none: { filters: 0, same: false },
    one: { filters: 1, same: false },
    same: { filters: endpoints, same: true },
    many: { filters: endpoints, same: false },
  };
  for (const [tenant, { filters, same }] of Object.entries(tenants)) {
    const where = (n) => `person.dwell_s >= ${n} and severity in ("low", "medium", "high")`;
    const first = await world.addEndpoint(tenant, url, filters > 0 ? { where: where(0) } : {});
    await world.db.query(
      `insert into webhook_endpoints (id, lane, tenant, url, event_types, enabled, secret, filter, filter_key)
      select 'ep_' || lpad($2 || n, 16, '0'), lane, tenant, url, event_types, enabled, secret, own, md5(own)::uuid
      from webhook_endpoints, generate_series(1, $3::int - 1) as n,
        lateral (select replace($4, '>= 1 ', '>= ' || case when $5 then 1000 else 1000 + n end || ' ') as own) as made
      where id = $1`,
      [first.id, tenant, filters, where(1), same],
    );
  }
  const cpuMillis = () => treeCpuMillis(world.pid) + treeCpuMillis(bench.postgres.pid());
  let number = 0;
  const runs = await inTurn(
    Object.fromEntries(
      Object.keys(tenants).map((tenant) => [
        tenant,
        async () => {
          await world.db.query('truncate deliveries, delivery_attempts, incidents');
          await world.db.query('checkpoint');
          const bodies = Array.from({ length: requests }, () => {
            number += 1;
            const { type, data } = payloadOf(number);
            return JSON.stringify({ tenant, type, data });
          });
          const load = { path: '/api/v1/incidents', bodies, clients, answer: '{"id":"inc_' };
          const before = cpuMillis();
          const run = await postAll(world, load);
          const cpuEach = (cpuMillis() - before) / requests;
          await assertOneEach(world, requests, tenants[tenant].filters);
          return { ...run, cpuEach };
        },
      ]),
    ),
    pairs,
    { onRound: (round) => say(`filters: round ${round + 1} of ${pairs}`) },
  );
  return section(
    `Filters of endpoints: ${formatCount(requests)} reports`,
    `By ${clients} clients, each of 450 bytes; one endpoint gets each of them, and the filters of the others keep it back, of which the incident keeps their ids. CPU is that of service and database. In turn, ${pairs} × each; medians.`,
    markdownTable(
      ['filters of the tenant', 'reports/s:', 'p50:', 'p99:', 'to none:', 'CPU a report:'],
      Object.entries(tenants).map(([tenant, { filters, same }]) => [
        filters > 1
          ? `${formatCount(filters)}, ${same ? 'two texts' : 'each its own text'}`
          : filters,
        `${formatCount(rateOf(runs[tenant]))}/s`,
        ...latencyCells(summary(runs[tenant].flatMap(({ millis }) => millis))),
        formatRatio(rateOf(runs[tenant]) / rateOf(runs.none)),
        formatMillis(median(runs[tenant].map(({ cpuEach }) => cpuEach))),
      ]),
    ),
  );
}

async function assertOneEach({ db }, count, filters) {
  const { rows } = await db.query(
    `select (select count(*) from deliveries)::int as deliveries,
      (select coalesce(sum(cardinality(filtered_out)), 0) from incidents)::int as filtered`,
  );
  const [{ deliveries, filtered }] = rows;
  const wanted = count * Math.max(filters - 1, 0);
  if (deliveries !== count || filtered !== wanted) {
    throw new Error(
      `${deliveries} deliveries and ${filtered} filtered out, not ${count} and ${wanted}`,
    );
  }
}

import { fileURLToPath } from 'node:url';
import { startBare } from '../lib/bare.mjs';
import { summary } from '../lib/latency.mjs';
import { postAll } from '../lib/post-all.mjs';
import { median } from '../lib/stats.mjs';
import { formatCount, formatMillis, formatRatio, goal, markdownTable } from '../lib/table.mjs';
import { payloadOf } from './payload.mjs';
import { addEndpoint, startWorld } from './world.mjs';

const clientCounts = [1, 16, 32];
const tenants = 4;

/** Incidents reported by many clients, each with a delivery, against one durable INSERT of a job. Nothing is sent. */
export async function benchIncidents({ scope, dir, postgres, sizes, say }) {
  const { requests, pairs } = sizes.incidents;
  const world = await startWorld(scope, { dir, postgres, name: 'incidents', roles: 'api' });
  for (let n = 0; n < tenants; n += 1) {
    await addEndpoint(world, `tenant-${n}`, 'http://127.0.0.1:9/never-sent');
  }
  await world.client.query(
    `create table bare_jobs (id uuid primary key default gen_random_uuid(), name text not null, state text not null default 'created',
      created_on timestamptz not null default now(), data jsonb);
    create index on bare_jobs (name, created_on) where state = 'created'`,
  );
  const script = fileURLToPath(new URL('bare-queue.mjs', import.meta.url));
  const bare = await startBare(scope, script, world.databaseUrl);
  let number = 0;
  const rows = [];
  for (const clients of clientCounts) {
    const runs = { ours: [], bare: [] };
    for (let pair = 1; pair <= pairs; pair += 1) {
      say(`incidents: ${clients} clients, pair ${pair} of ${pairs}`);
      const count = clients === 1 ? Math.ceil(requests / 8) : requests;
      for (const { side, asked } of [
        { side: 'bare', asked: bare },
        { side: 'ours', asked: world },
      ]) {
        await world.client.query('truncate deliveries, delivery_attempts, incidents, bare_jobs');
        await world.client.query('checkpoint');
        const bodies = Array.from({ length: count }, () => {
          number += 1;
          const { type, data } = payloadOf(number);
          return JSON.stringify({ tenant: `tenant-${number % tenants}`, type, data });
        });
        runs[side].push(await send(asked, bodies, clients));
      }
      await assertAllStored(world, count);
    }
    rows.push(rowOf(clients, runs));
  }
  return [
    `### Incidents: ${formatCount(requests)} reports`,
    `Each of 450 bytes, and each with one delivery; a client sends the next one when the last is answered. Against a node:http server with one durable INSERT of a job (uuid, jsonb, one index). In turn, ${pairs} × each; medians.`,
    markdownTable(
      ['clients', 'ours:', 'bare:', 'ratio:', 'goal', 'ours p50:', 'p99:', 'bare p50:', 'p99:'],
      rows,
    ),
  ].join('\n\n');
}

function send(service, bodies, clients) {
  const check = (body) => {
    if (!body.startsWith('{"id":"inc_')) throw new Error(`answered ${body}`);
  };
  return postAll(service, { path: '/api/v1/incidents', bodies, clients, check });
}

async function assertAllStored({ client }, count) {
  const { rows } = await client.query(
    'select (select count(*) from incidents)::int as incidents, (select count(*) from deliveries)::int as deliveries',
  );
  const [{ incidents, deliveries }] = rows;
  if (incidents !== count || deliveries !== count) {
    throw new Error(`${incidents} incidents and ${deliveries} deliveries are stored, not ${count}`);
  }
}

function rowOf(clients, { ours, bare }) {
  const rate = (runs) => median(runs.map((run) => run.perSecond));
  const times = (runs) => summary(runs.flatMap((run) => run.millis));
  const ratio = rate(ours) / rate(bare);
  const [own, other] = [times(ours), times(bare)];
  return [
    clients,
    `${formatCount(rate(ours))}/s`,
    `${formatCount(rate(bare))}/s`,
    formatRatio(ratio),
    goal('≥ 0.8', ratio >= 0.8),
    formatMillis(own.p50),
    formatMillis(own.p99),
    formatMillis(other.p50),
    formatMillis(other.p99),
  ];
}

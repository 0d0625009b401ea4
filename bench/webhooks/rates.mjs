import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startBare } from '../lib/bare.mjs';
import { cleanEnvironment } from '../lib/child.mjs';
import { inTurn, mapValues, median, until } from '../lib/measure.mjs';
import { postAll, rateCells } from '../lib/post-all.mjs';
import { withScope } from '../lib/scope.mjs';
import { formatCount, formatRatio, markdownTable, ratioCells, section } from '../lib/table.mjs';
import { payloadOf } from './payload.mjs';
import {
  receivedRate,
  seedDeliveries,
  settle,
  startDrainer,
  startReceiverProcess,
  startWorld,
} from './world.mjs';

const clientCounts = [1, 16, 32];
const tenants = 4;

/** Incidents reported by many clients, each with a delivery, against one durable INSERT of a job. Nothing is sent. */
export async function benchIncidents({ sizes, say, ...bench }) {
  const { requests, pairs } = sizes.incidents;
  const world = await startWorld(bench, 'incidents', 'api');
  for (let n = 0; n < tenants; n += 1) {
    await world.addEndpoint(`tenant-${n}`, 'http://127.0.0.1:9/never-sent');
  }
  await world.db.query(
    `create table bare_jobs (id uuid primary key default gen_random_uuid(), name text not null, state text not null default 'created',
      created_on timestamptz not null default now(), data jsonb);
    create index on bare_jobs (name, created_on) where state = 'created'`,
  );
  const bare = await startBare(bench.scope, 'jobs', world.databaseUrl);
  let number = 0;
  const rows = [];
  for (const clients of clientCounts) {
    const count = clients === 1 ? Math.ceil(requests / 8) : requests;
    const reporting = mapValues({ bare, ours: world }, (asked) => async () => {
      await world.db.query('truncate deliveries, delivery_attempts, incidents, bare_jobs');
      await world.db.query('checkpoint');
      const bodies = Array.from({ length: count }, () => {
        number += 1;
        const { type, data } = payloadOf(number);
        return JSON.stringify({ tenant: `tenant-${number % tenants}`, type, data });
      });
      const load = { path: '/api/v1/incidents', bodies, clients, answer: '{"id":"inc_' };
      const run = await postAll(asked, load);
      if (asked === world) await assertAllStored(world, count);
      return run;
    });
    const runs = await inTurn(reporting, pairs, {
      onRound: (round) => say(`incidents: ${clients} clients, pair ${round + 1} of ${pairs}`),
    });
    rows.push([clients, ...rateCells(runs, '≥ 0.8')]);
  }
  return section(
    `Incidents: ${formatCount(requests)} reports`,
    `Each of 450 bytes, and each with one delivery; a client sends the next one when the last is answered. Against a node:http server with one durable INSERT of a job (uuid, jsonb, one index). In turn, ${pairs} × each; medians.`,
    markdownTable(
      ['clients', 'ours:', 'bare:', 'ratio:', 'goal', 'ours p50:', 'p99:', 'bare p50:', 'p99:'],
      rows,
    ),
  );
}

async function assertAllStored({ db }, count) {
  const { rows } = await db.query(
    'select (select count(*) from incidents)::int as incidents, (select count(*) from deliveries)::int as deliveries',
  );
  const [{ incidents, deliveries }] = rows;
  if (incidents !== count || deliveries !== count) {
    throw new Error(`${incidents} incidents and ${deliveries} deliveries are stored, not ${count}`);
  }
}

const endpoints = 4;
const sideBySide = 64;

/** Queued deliveries sent by a drainer with all its book-keeping, against bare signed POSTs. */
export async function benchThroughput({ sizes, say, ...bench }) {
  const { scope, dir } = bench;
  const { deliveries, pairs } = sizes.throughput;
  const world = await startWorld(bench, 'throughput', 'api');
  const receiver = await startReceiverProcess(scope);
  const ids = [];
  for (let n = 0; n < endpoints; n += 1) {
    ids.push((await world.addEndpoint(`tenant-${n}`, `${receiver.url}/${n}`)).id);
  }
  const ways = {
    bare: () => measureBare(receiver, deliveries, 0),
    bounded: () => measureBare(receiver, deliveries, 15),
    async ours(pair) {
      await world.db.query('truncate deliveries, delivery_attempts, incidents');
      for (const id of ids) await seedDeliveries(world.db, id, deliveries / endpoints);
      await settle(world.db);
      return measureOurs({
        ...{ scope, dir, world, receiver, deliveries },
        name: `drainer-${pair}`,
      });
    },
  };
  const onRound = (round) => say(`throughput: pair ${round + 1} of ${pairs}`);
  const { ours, bare, bounded } = mapValues(await inTurn(ways, pairs, { onRound }), median);
  return section(
    'Deliveries',
    `${formatCount(deliveries)} queued deliveries of 450 bytes to ${endpoints} endpoints, ${sideBySide} bare POSTs side by side; medians of ${pairs} pairs.`,
    markdownTable(
      ['', 'deliveries/s:', 'ours to it:', 'goal'],
      [
        [
          'bare undici, signed POSTs, nothing stored',
          formatCount(bare),
          ...ratioCells(ours / bare, '≥ 0.5'),
        ],
        [
          'the same, each with a time-out of 15 s',
          ...[formatCount(bounded), formatRatio(ours / bounded), ''],
        ],
        [
          'svcctl: claimed, sent, every attempt in the history, durable',
          ...[formatCount(ours), '1', ''],
        ],
      ],
    ),
  );
}

async function measureBare(receiver, count, seconds) {
  await receiver.reset();
  const script = fileURLToPath(new URL('bare-sender.mjs', import.meta.url));
  const args = [receiver.url, count, sideBySide, seconds].map(String);
  const child = spawn(process.execPath, [script, ...args], {
    env: cleanEnvironment(),
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the bare sender ended with ${code}`);
  return receivedRate(await receiver.stats(), count);
}

function measureOurs({ scope, dir, name, world, receiver, deliveries }) {
  return withScope(scope, async (own) => {
    await receiver.reset();
    const { databaseUrl, token } = world;
    await startDrainer(own, { dir, name, databaseUrl, token });
    // Asked seldom: whoever counts rows meanwhile takes what is measured.
    await until(async () => {
      await delay(200);
      return (await receiver.stats()).count === deliveries || undefined;
    });
    await until(async () => {
      const { rows } = await world.db.query(
        `select count(*)::int as delivered from deliveries join delivery_attempts a
          on a.lane = deliveries.lane and delivery_id = id
          where deliveries.status = 'delivered' and a.status = 204`,
      );
      return rows[0].delivered === deliveries || undefined;
    }, 10_000);
    return receivedRate(await receiver.stats(), deliveries);
  });
}

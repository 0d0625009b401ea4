import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { replaceBetweenMarkers } from '../../bench/lib/document.mjs';
import { describeMachine } from '../../bench/lib/machine.mjs';
import { makeTempDir, runInScope } from '../../bench/lib/scope.mjs';
import { until } from '../lib/wait.mjs';
import { startCluster } from './cluster.mjs';
import { startLoad } from './load.mjs';
import {
  countOpenRows,
  countWrongCounts,
  judge,
  lanesByKeeper,
  leasedKeys,
  lengthenBacklog,
} from './oracle.mjs';
import { startReceiver } from './receiver.mjs';
import { isKept, reportTable } from './report.mjs';

const document = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const tenants = ['AK', 'AZ', 'CA', 'CO', 'FL', 'GA', 'IL', 'NY', 'TX', 'WA'];

/** Answers whether all that was promised was kept. */
export function runChaos({ rounds, writesDocs }) {
  return runInScope(async (scope) => {
    const startedAt = performance.now();
    const cluster = await startCluster(scope, makeTempDir(scope));
    const receiver = await startReceiver(scope);
    await createEndpoints(cluster, receiver);
    const [{ server_version: version }] = await cluster.database.rows('show server_version');
    const machine = describeMachine(version);
    const load = startLoad(cluster, tenants);
    const world = { cluster, receiver, load, leased: new Map(), discards: new Map() };
    const sum = {
      rounds,
      drainer: 0,
      postgres: 0,
      frozen: 0,
      discard: 0,
      redrive: 0,
      inFlight: 0,
      wrongCounts: 0,
    };
    for (let round = 1; round <= rounds; round += 1) {
      const { victim, inFlight } = await playRound(world, round);
      sum[victim] += 1;
      sum.inFlight += inFlight;
      sum.wrongCounts += await countWrongCounts(cluster.database);
      say(`round ${round}: ${words[victim]}, ${inFlight} in flight, ${describe(world)}`);
    }
    await load.stop();
    await comeToRest(world);
    const found = await judge(world);
    found.wrongCounts += sum.wrongCounts;
    for (const fault of load.faults.slice(0, 5)) say(`fault: ${fault}`);
    const took = (performance.now() - startedAt) / 1000;
    const all = {
      ...sum,
      ...found,
      faults: load.faults.length,
      acknowledged: load.acknowledged.length,
      refused: load.refused(),
      throttled: receiver.refused(),
    };
    const table = reportTable(all);
    process.stdout.write(`\n${table}\n`);
    if (writesDocs) {
      const caption = `${rounds} rounds in ${Math.round(took)} s; ${machine}.`;
      replaceBetweenMarkers(document, 'chaos:webhooks', `${table}\n\n${caption}`);
    }
    return isKept(all);
  });
}

/**
 * Two endpoints a tenant. The second of every other one fails until the end, so that its rows are abandoned; that of the
 * others takes so many a second.
 */
export async function createEndpoints(cluster, receiver, ofTenants = tenants) {
  for (const [at, tenant] of ofTenants.entries()) {
    for (const path of ['/steady', at % 2 === 0 ? '/throttled' : '/failing']) {
      const answer = await cluster.call('POST', '/webhook/endpoints', {
        tenant,
        url: receiver.url(path),
        max_attempts: path === '/failing' ? 2 : 10,
        retry_schedule: [1, 2],
      });
      if (answer.status !== 201) throw new Error(`endpoint: ${JSON.stringify(answer.json)}`);
    }
  }
}

const words = {
  drainer: 'killed a drainer',
  postgres: 'killed PostgreSQL',
  frozen: 'froze a drainer',
  discard: 'discarded a backlog under load',
  redrive: 'retried all that was abandoned, and killed a drainer',
};
/** In one round of so many a drainer is frozen, for as long as a lease; in another a backlog is
 * discarded, and in a third all that was abandoned is retried. */
const roundsOfEach = 10;

/** Kills or freezes one of them at a random moment and waits until all goes on. */
async function playRound(world, round) {
  const { cluster } = world;
  await delay(randomInt(100, 1500));
  const victim = pickVictim();
  const play = {
    drainer: killDrainer,
    postgres: killPostgres,
    frozen: freezeDrainer,
    discard: discardBacklog,
    redrive,
  }[victim];
  const inFlight = await play();
  await goesOn(world);
  for (const key of inFlight) world.leased.set(key, (world.leased.get(key) ?? 0) + 1);
  return { victim, inFlight: inFlight.size };

  function pickVictim() {
    if (round % roundsOfEach === 5) return 'frozen';
    if (round % roundsOfEach === 3) return 'discard';
    if (round % roundsOfEach === 4) return 'redrive';
    return randomInt(3) === 0 ? 'postgres' : 'drainer';
  }

  async function freezeDrainer() {
    const at = randomInt(cluster.drainerCount);
    cluster.freezeDrainer(at);
    const keys = new Set(await leasedKeys(cluster.database));
    await until('the lanes to pass on', async () => {
      const keepers = await lanesByKeeper(cluster.database);
      return keepers.length === 1 && keepers[0] === 64;
    });
    await goesOn(world);
    cluster.thawDrainer(at);
    await until(
      'the lanes to be shared',
      async () => (await lanesByKeeper(cluster.database)).length === 2,
    );
    return keys;
  }

  async function discardBacklog() {
    const { json } = await cluster.call('GET', '/webhook/endpoints?limit=500');
    const steady = json.data.filter(({ url }) => url.endsWith('/steady'));
    const { id } = steady[randomInt(steady.length)];
    const path = `/webhook/endpoints/${id}`;
    await cluster.call('PATCH', path, { enabled: false });
    await lengthenBacklog(cluster.database, id);
    const clicked = await cluster.call('POST', `${path}/discard-backlog`);
    world.discards.set(id, performance.now());
    if (clicked.json.backlog?.is_discarding !== true) throw new Error(JSON.stringify(clicked.json));
    const inFlight = randomInt(2) === 0 ? await killPostgres() : new Set();
    await until('the backlog to be discarded', async () => {
      return (await cluster.call('GET', path)).json?.enabled === true;
    });
    return inFlight;
  }

  /** Retries in bulk while incidents come in, and kills a drainer meanwhile. Ends when the job has. */
  async function redrive() {
    const asked = await cluster.call('POST', '/webhook/dlq/retry', { status: 'abandoned' });
    if (asked.status !== 202) throw new Error(`redrive: ${JSON.stringify(asked.json)}`);
    const keys = await killDrainer();
    await until('the bulk retry to end', async () => {
      const { json } = await cluster.call('GET', `/webhook/dlq/retries/${asked.json.id}`);
      return json?.state === 'completed';
    });
    return keys;
  }

  async function killDrainer() {
    const at = randomInt(cluster.drainerCount);
    await cluster.killDrainer(at);
    const keys = new Set(await leasedKeys(cluster.database));
    await cluster.startDrainer(at);
    return keys;
  }

  async function killPostgres() {
    const before = await leasedKeys(cluster.database);
    await cluster.killPostgres();
    // What was claimed between the look and the kill is leased still.
    return new Set([...before, ...(await leasedKeys(cluster.database))]);
  }
}

/** One retry for each endpoint with failures: it passes an open breaker, which a retry of all does not. */
async function probeEndpoints(cluster) {
  for (const status of ['pending', 'abandoned']) {
    const groups = await cluster.call('GET', `/webhook/dlq/groups?status=${status}`);
    for (const id of new Set(groups.json.data.map((group) => group.endpoint_id))) {
      const query = `status=${status}&endpoint_id=${id}&limit=1`;
      const rows = await cluster.call('GET', `/webhook/dlq?${query}`);
      for (const row of rows.json.data) {
        await cluster.call('POST', `/webhook/dlq/${row.id}/retry`);
      }
    }
  }
}

async function goesOn({ receiver, load }) {
  const accepted = receiver.accepted();
  const acknowledged = load.acknowledged.length;
  await until('deliveries and incidents to go on', () => {
    return receiver.accepted() > accepted + 5 && load.acknowledged.length > acknowledged + 5;
  });
}

/** The receivers are well again, an operator retries what has failed, and the rest is waiting. */
export async function comeToRest({ cluster, receiver }) {
  receiver.heal();
  await probeEndpoints(cluster);
  const answer = await cluster.call('POST', '/webhook/dlq/retry', {});
  if (answer.status !== 202) throw new Error(`retry: ${JSON.stringify(answer.json)}`);
  await until('the retry job', async () => {
    const { json } = await cluster.call('GET', `/webhook/dlq/retries/${answer.json.id}`);
    return json.state === 'completed';
  });
  // What stays open is counted as stuck.
  await until(
    'all rows to be delivered',
    async () => {
      await delay(500);
      return (await countOpenRows(cluster.database)) === 0;
    },
    // A receiver that refused too much is sent to slowly for some minutes more.
    900_000,
  ).catch((error) => say(error.message));
}

function describe({ receiver, load }) {
  return `${load.acknowledged.length} incidents acknowledged, ${receiver.accepted()} deliveries accepted`;
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

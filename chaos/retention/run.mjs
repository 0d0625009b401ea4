import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { replaceBetweenMarkers } from '../../bench/lib/document.mjs';
import { describeMachine } from '../../bench/lib/machine.mjs';
import { makeTempDir, runInScope } from '../../bench/lib/scope.mjs';
import { openDatabase } from '../lib/database.mjs';
import { call, killPostgres, killRole, startRole } from '../lib/role.mjs';
import { until } from '../lib/wait.mjs';
import { finishRun, playClone } from './copies.mjs';
import { judge } from './judge.mjs';
import { startLoad } from './load.mjs';
import { isKept, reportTable } from './report.mjs';

const document = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const states = ['planned', 'copied', 'verified', 'switched'];

/** Answers whether all that was promised was kept. */
export function runChaos({ rounds, writesDocs }) {
  return runInScope(async (scope) => {
    const startedAt = performance.now();
    const world = await startWorld(scope);
    const [{ server_version: version }] = await world.database.rows('show server_version');
    const machine = describeMachine(version);
    const load = startLoad(world);
    const cloneEvery = Math.max(3, Math.floor(rounds / 20));
    const sum = { rounds, service: 0, postgres: 0, atArrow: 0, random: 0 };
    const copies = { clones: 0, copyFirst: 0, wrongCopies: 0, written: new Set() };
    for (let round = 1; round <= rounds; round += 1) {
      const { victim, at } = await playRound(world, round);
      sum[victim] += 1;
      sum[at === 'random' ? 'random' : 'atArrow'] += 1;
      say(`round ${round}: killed ${victim} at ${at}, ${load.describe()}`);
      if (round % cloneEvery !== 0) continue;
      const isCopyFirst = copies.clones % 2 === 0;
      addCopy(copies, await playClone(world, { scope, name: `copy_${round}`, isCopyFirst }));
    }
    await load.stop();
    await settle(world);
    const found = await judge(world, load, copies.written);
    const took = (performance.now() - startedAt) / 1000;
    const all = { ...sum, ...copies, ...found, faults: load.faults.length };
    for (const fault of [...load.faults, ...found.details].slice(0, 20)) say(`fault: ${fault}`);
    const table = reportTable(all);
    process.stdout.write(`\n${table}\n`);
    if (writesDocs) {
      const caption = `${rounds} rounds in ${Math.round(took)} s; ${machine}.`;
      replaceBetweenMarkers(document, 'chaos:retention', `${table}\n\n${caption}`);
    }
    return isKept(all);
  });
}

/** One service and its PostgreSQL; `service` is whoever lives at the moment. */
async function startWorld(scope) {
  const dataDir = join(makeTempDir(scope), 'data');
  mkdirSync(dataDir);
  const start = () =>
    startRole(scope, dataDir, 'api,retention', {
      SVC_RETENTION_SCHEDULE: 'off',
      SVC_COLD_GRACE_SECONDS: '2',
      SVC_DATABASE_CONNECTIONS: '12',
    });
  const world = { service: await start(), database: openDatabase(dataDir), dataDir };
  world.startService = async () => {
    world.service = await start();
  };
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  world.token = token;
  world.call = (method, path, body) =>
    call({ origin: world.service.url, token }, method, path, body);
  world.killService = async () => {
    await killRole(world.service);
    world.service = await start();
  };
  return world;
}

/** Exactly one may have had the store, and the original when it took it back. */
function addCopy(copies, { states, after, written }) {
  const [before, now] = [states.join(), after.join()];
  const isCopyFirst = before === 'elsewhere,own';
  const isRight = (isCopyFirst || before === 'own,elsewhere') && now === 'own,elsewhere';
  copies.clones += 1;
  copies.copyFirst += isCopyFirst ? 1 : 0;
  copies.wrongCopies += isRight ? 0 : 1;
  for (const key of written) copies.written.add(key);
  say(`  a clone: the original and it found the store ${before}, and then ${now}`);
}

/** Kills one of them at a random moment, or just when a move shows the state whose turn it is. */
async function playRound(world, round) {
  const victim = randomInt(3) === 0 ? 'postgres' : 'service';
  const wanted = round % 4 === 0 ? 'random' : states[round % states.length];
  const at = wanted === 'random' ? await passTime() : await awaitState(world, wanted);
  if (victim === 'postgres') await killPostgres(world.database);
  else await world.killService();
  await until('the service to answer', () =>
    world.call('GET', '/me').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return { victim, at };
}

async function passTime() {
  await delay(randomInt(50, 1500));
  return 'random';
}

/** Looks as often as it can for a move in this state; after a while any moment will do. */
async function awaitState(world, state) {
  const deadline = performance.now() + 4000;
  const client = await world.database.connect();
  try {
    while (performance.now() < deadline) {
      const { rows } = await client.query(
        'select count(*)::int as count from moves where state = $1',
        [state],
      );
      if (rows[0].count > 0) return state;
    }
    return 'random';
  } catch {
    return 'random';
  } finally {
    await client.end().catch(() => {});
  }
}

/** Runs retention until it finds nothing more to do. */
export async function settle(world) {
  for (;;) {
    const run = await finishRun(world);
    const [{ open }] = await world.database.rows(
      `select count(*)::int as open from moves where state not in ('removed', 'failed')`,
    );
    const [{ hot }] = await world.database.rows(
      'select coalesce(sum(count - cold_count), 0)::int as hot from leaf_days',
    );
    if (open === 0 && hot === 0) return;
    if (run.moved_count === 0 && run.state === 'failed') throw new Error(JSON.stringify(run));
  }
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { replaceBetweenMarkers } from '../../bench/lib/document.mjs';
import { describeMachine } from '../../bench/lib/machine.mjs';
import { programPath } from '../../bench/lib/product.mjs';
import { makeTempDir, runInScope } from '../../bench/lib/scope.mjs';
import { openDatabase } from '../lib/database.mjs';
import { killRole, startRole, stopRole } from '../lib/role.mjs';
import { until } from '../lib/wait.mjs';
import { startLoad } from './load.mjs';
import { startProxy } from './proxy.mjs';
import { isKept, reportTable } from './report.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const document = join(root, 'docs', 'reliability.md');
/** Ten times as long as the proxy takes to notice. */
const settings = { SVC_SHUTDOWN_LEAD_SECONDS: '1', SVC_DATABASE_CONNECTIONS: '12' };
/** At least, in a whole run. */
const requestsPerRound = 1000;
const run = promisify(execFile);

/**
 * Restarts all processes one after the other in each round, then kills one in each round, and answers whether all that
 * was promised was kept. `from` is a commit whose processes take turns with those of this tree.
 */
export function runChaos({ rounds, writesDocs, from }) {
  return runInScope(async (scope) => {
    const startedAt = performance.now();
    const old = from === undefined ? programPath : await buildCommit(scope, from);
    // A single round is for tests, where two must do.
    const processCount = rounds === 1 ? 2 : 3;
    const world = await startWorld(scope, { program: old, processCount });
    const [{ server_version: version }] = await world.database.rows('show server_version');
    const machine = describeMachine(version);
    const load = await startLoad({ origin: world.proxy.origin, token: world.token });
    await load.reaches(100);
    const sum = { restarts: 0, kills: 0, inFlight: 0, wrongExits: 0 };
    for (let round = 1; round <= rounds; round += 1) {
      const program = round % 2 === 1 ? programPath : old;
      for (let at = 0; at < processCount; at += 1) {
        if ((await restart(world, at, program)) !== 0) sum.wrongExits += 1;
        sum.restarts += 1;
      }
      if (writesDocs) await load.reaches(round * requestsPerRound);
      say(
        `round ${round}: restarted all, ${load.requests()} requests, ${load.failures.length} failed`,
      );
    }
    const requestsAtRestarts = load.requests();
    const failedAtRestarts = load.failures.length;
    for (let round = 1; round <= rounds; round += 1) {
      sum.inFlight += await kill(world, round % processCount, programPath);
      sum.kills += 1;
      say(
        `round ${round}: killed one, ${load.requests()} requests, ${load.failures.length} failed`,
      );
    }
    await load.stop();
    for (const failure of load.failures.slice(0, 10)) say(`failed: ${failure}`);
    const found = await judge(world, load);
    const took = (performance.now() - startedAt) / 1000;
    const failedInFlight = world.proxy.faults.filter(({ backend }) => backend?.isKilled).length;
    const all = {
      ...sum,
      ...load.counts,
      ...found,
      requestsAtRestarts,
      failedAtRestarts,
      requestsAtKills: load.requests() - requestsAtRestarts,
      failedInFlight,
      unexplained: load.failures.length - failedAtRestarts - failedInFlight,
    };
    const table = reportTable(all);
    process.stdout.write(`\n${table}\n`);
    if (writesDocs) {
      const caption = `${rounds} rounds in ${Math.round(took)} s; ${machine}.`;
      replaceBetweenMarkers(document, 'chaos:rolling', `${table}\n\n${caption}`);
    }
    return isKept(all);
  });
}

/** Some processes on one PostgreSQL of their own, behind the proxy. */
async function startWorld(scope, { program, processCount }) {
  const dataDir = join(makeTempDir(scope), 'data');
  mkdirSync(dataDir);
  const proxy = await startProxy(scope);
  const processes = [];
  const start = async (at, own) => {
    const role = await startRole(scope, dataDir, 'api', settings, own);
    const backend = proxy.add(role.url);
    processes[at] = { role, backend };
    await until('the proxy to see it', () => backend.isReady);
  };
  for (let at = 0; at < processCount; at += 1) await start(at, program);
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  return { proxy, processes, start, token, database: openDatabase(dataDir) };
}

/** Replaces a process by one of this program. Answers the exit code. */
async function restart(world, at, program) {
  const { role, backend } = world.processes[at];
  const code = await stopRole(role);
  world.proxy.remove(backend);
  await world.start(at, program);
  return code;
}

/**
 * Kills a process and starts another. Answers how many requests were in flight on it: those that were sent before the
 * end of its connections was seen.
 */
async function kill(world, at, program) {
  const { role, backend } = world.processes[at];
  await until('a request to be in flight', () => backend.inFlight.size > 0);
  backend.isKilled = true;
  const before = backend.inFlight.size - backend.sent;
  await killRole(role);
  world.proxy.remove(backend);
  await world.start(at, program);
  return before + backend.sent;
}

/** What is stored against what was acknowledged: all that was sent has been in the end. */
async function judge({ database }, load) {
  const [row] = await database.rows(`
    select (select count(*)::int from enrichment_records) as records,
      (select sum(count)::int from leaf_tenants) as counted,
      (select count(*)::int from incidents) as incidents`);
  const stored = load.stored();
  return {
    wrongRecords: Math.abs(row.records - stored.records) + Math.abs(row.counted - stored.records),
    wrongIncidents: Math.abs(row.incidents - stored.incidents),
  };
}

/** Builds a commit in a folder of its own, with the packages of this tree. Answers its program. */
async function buildCommit(scope, commit) {
  const dir = makeTempDir(scope);
  const archive = join(dir, 'source.tar');
  await run('git', ['archive', '--output', archive, commit], { cwd: root });
  await run('tar', ['-xf', archive, '-C', dir]);
  for (const folder of ['', 'packages/server', 'packages/console']) {
    const packages = join(root, folder, 'node_modules');
    if (existsSync(packages)) symlinkSync(packages, join(dir, folder, 'node_modules'));
  }
  say(`building ${commit}`);
  await run(process.execPath, ['scripts/build.mjs'], { cwd: dir });
  return join(dir, 'packages', 'server', 'bin', 'svcctl.cjs');
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

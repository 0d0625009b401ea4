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
import { judge } from './judge.mjs';
import { prepare, startLoad } from './load.mjs';
import { isKept, reportTable } from './report.mjs';

const document = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));

/** Answers whether all that was promised was kept. */
export function runChaos({ rounds, writesDocs }) {
  return runInScope(async (scope) => {
    const startedAt = performance.now();
    const world = await startWorld(scope);
    const [{ server_version: version }] = await world.database.rows('show server_version');
    const machine = describeMachine(version);
    say('storing records, and exporting them undisturbed');
    const references = await prepare(world);
    const load = startLoad(world, references);
    say('revoking tokens in the middle of their streams, while nothing dies');
    await until('streams to be revoked', () => load.streams.revoked >= 6, 300_000);
    const sum = { rounds, service: 0, postgres: 0, midway: 0, random: 0 };
    for (let round = 1; round <= rounds; round += 1) {
      const victim = randomInt(3) === 0 ? 'postgres' : 'service';
      const at = round % 3 === 0 ? await passTime() : await awaitPart(world);
      if (victim === 'postgres') await killPostgres(world.database);
      else await world.killService();
      await untilAnswering(world);
      sum[victim] += 1;
      sum[at] += 1;
      say(`round ${round}: killed ${victim}, ${at}; ${load.describe()}`);
    }
    await load.stop();
    const found = await judge(world, load);
    const took = (performance.now() - startedAt) / 1000;
    const all = { ...sum, ...found };
    for (const detail of found.details.slice(0, 20)) say(`fault: ${detail}`);
    const table = reportTable(all);
    process.stdout.write(`\n${table}\n`);
    if (writesDocs) {
      const caption = `${rounds} rounds in ${Math.round(took)} s; ${machine}.`;
      replaceBetweenMarkers(document, 'chaos:exports', `${table}\n\n${caption}`);
    }
    return isKept(all);
  });
}

/** One service and its PostgreSQL; `service` is whoever lives at the moment. */
async function startWorld(scope) {
  const dataDir = join(makeTempDir(scope), 'data');
  mkdirSync(dataDir);
  const start = () =>
    startRole(scope, dataDir, 'api,retention,exports', {
      SVC_RETENTION_SCHEDULE: 'off',
      SVC_COLD_GRACE_SECONDS: '2',
    });
  const world = { service: await start(), database: openDatabase(dataDir), dataDir };
  world.token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  world.call = (method, path, body, headers) =>
    call({ origin: world.service.url, token: world.token }, method, path, body, headers);
  world.killService = async () => {
    await killRole(world.service);
    world.service = await start();
  };
  return world;
}

function untilAnswering(world) {
  return until('the service to answer', () =>
    world.call('GET', '/me').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
}

async function passTime() {
  await delay(randomInt(50, 1500));
  return 'random';
}

/** Until a job that is running has parts, and not all; after a while any moment will do. */
async function awaitPart(world) {
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const [{ found }] = await world.database.rows(`
      select exists (
        select from exports job join export_parts part
          on part.tenant = job.tenant and part.export_id = job.id
        where job.state = 'running' group by job.id
        having count(part.rows) > 0 and count(part.rows) < count(*)
      ) as found`);
    if (found) return 'midway';
  }
  return 'random';
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

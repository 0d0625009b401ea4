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
import { judge as judgeRecords } from '../retention/judge.mjs';
import { startLoad as startRecords } from '../retention/load.mjs';
import { settle } from '../retention/run.mjs';
import { startLoad as startIncidents } from '../webhooks/load.mjs';
import { judge as judgeDeliveries, leasedKeys } from '../webhooks/oracle.mjs';
import { startReceiver } from '../webhooks/receiver.mjs';
import { comeToRest, createEndpoints } from '../webhooks/run.mjs';
import { runCommand } from './command.mjs';
import { startExports } from './exports.mjs';
import { isKept, reportTable } from './report.mjs';
import { drill, judgePlace, playRestore } from './restore.mjs';

const document = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const tenants = ['AK', 'AZ', 'CA', 'CO'];
const settings = {
  SVC_RETENTION_SCHEDULE: 'off',
  SVC_COLD_GRACE_SECONDS: '2',
  SVC_DATABASE_CONNECTIONS: '12',
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  // Leases outlive it by 15 seconds.
  SVC_WEBHOOK_TIMEOUT_SECONDS: '2',
};

/** Answers whether all that was promised was kept. */
export function runChaos({ rounds, writesDocs }) {
  return runInScope(async (scope) => {
    const startedAt = performance.now();
    const world = await startWorld(scope);
    const [{ server_version: version }] = await world.database.rows('show server_version');
    const machine = describeMachine(version);
    await createEndpoints(world, world.receiver, tenants);
    world.records = startRecords(world, { batchRecords: 40, pauseMillis: 300 });
    world.incidents = startIncidents(world, tenants, { clientCount: 2, pauseMillis: 200 });
    const exporting = startExports(world);
    for (let round = 1; round <= rounds; round += 1) {
      const made = await makeBackup(world, round);
      // Either way is tried on whole and on incremental backups.
      const isDrill = round % 2 === 0;
      await (isDrill ? drill(world) : playRestore(world, { ...made, round }));
      const { acknowledged } = world.incidents;
      const stored = `${world.records.describe()}, ${acknowledged.length} incidents`;
      say(`round ${round}: ${made.what}, ${isDrill ? 'drill' : 'restore'}; ${stored}`);
    }
    await Promise.all([world.records.stop(), world.incidents.stop(), exporting.stop()]);
    await settle(world);
    const place = await judgePlace(world);
    const records = await judgeRecords(world, world.records, new Set());
    await comeToRest({ cluster: world, receiver: world.receiver });
    const { receiver, leased, sum } = world;
    const load = world.incidents;
    const deliveries = await judgeDeliveries({ cluster: world, receiver, load, leased });
    const took = (performance.now() - startedAt) / 1000;
    const faults = [...world.faults, ...world.records.faults, ...load.faults, ...exporting.faults];
    for (const fault of [...faults, ...records.details].slice(0, 20)) say(`fault: ${fault}`);
    const all = {
      ...sum,
      ...place,
      exports: exporting.completed(),
      records: records.acknowledged,
      moves: records.moves,
      incidents: load.acknowledged.length,
      // What the original lost, each of which has a row in the table of its own round.
      wrongRecords: records.wrongLeaves + records.wrongPages + records.wrongExports,
      problems: records.problems,
      openMoves: records.openMoves + records.failedMoves,
      lostDeliveries: deliveries.lost + deliveries.storedTwice + deliveries.wrongBodies,
      stuck: deliveries.stuck + deliveries.leases,
      unexplained: deliveries.unexplained,
      faults: faults.length,
    };
    const table = reportTable(all);
    process.stdout.write(`\n${table}\n`);
    if (writesDocs) {
      const caption = `${rounds} rounds in ${Math.round(took)} s; ${machine}.`;
      replaceBetweenMarkers(document, 'chaos:backup', `${table}\n\n${caption}`);
    }
    return isKept(all);
  });
}

/** One service with all roles and its PostgreSQL, a receiver, and a place for backups. */
async function startWorld(scope) {
  const dir = makeTempDir(scope);
  const dataDir = join(dir, 'data');
  mkdirSync(dataDir);
  const start = () => startRole(scope, dataDir, 'api,drainer,retention,exports', settings);
  const world = {
    scope,
    dir,
    dataDir,
    settings,
    place: join(dir, 'place'),
    service: await start(),
    database: openDatabase(dataDir),
    receiver: await startReceiver(scope),
    /** How often each delivery may come again, by webhook-id. */
    leased: new Map(),
    faults: [],
    sum: {
      ...{ whole: 0, incremental: 0, killedBackups: 0, failedBackups: 0 },
      ...{ serviceKills: 0, postgresKills: 0, restoreKills: 0, drills: 0, restores: 0 },
      ...{ recordsRestored: 0, deliveriesRestored: 0, sentAgain: 0 },
      ...{ missing: 0, foreign: 0, wrongLeaves: 0, lostRestored: 0, repeated: 0, findings: 0 },
    },
  };
  world.token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  world.call = (method, path, body, headers) =>
    call({ origin: world.service.url, token: world.token }, method, path, body, headers);
  const note = (keys) => {
    for (const key of keys) world.leased.set(key, (world.leased.get(key) ?? 0) + 1);
  };
  world.killService = async () => {
    await killRole(world.service);
    note(await leasedKeys(world.database));
    world.service = await start();
    world.sum.serviceKills += 1;
  };
  world.killPostgres = async () => {
    const before = await leasedKeys(world.database);
    await killPostgres(world.database);
    note(new Set([...before, ...(await leasedKeys(world.database))]));
    world.sum.postgresKills += 1;
  };
  return world;
}

const victims = ['backup', 'service', 'postgres', 'nobody'];

/**
 * Makes a backup, whatever is killed meanwhile; what fails is tried again. Answers which it is, and what was
 * acknowledged before it began.
 */
async function makeBackup(world, round) {
  const { sum } = world;
  const records = new Set(world.records.expected.keys());
  const incidents = world.incidents.acknowledged.slice();
  const isWhole = round % 3 === 1;
  const kind = isWhole ? 'whole' : 'incremental';
  const victim = victims[round % victims.length];
  const args = ['backup', '--out', world.place, '--keep', '3', '--json', 'id'];
  if (!isWhole) args.push('--incremental');
  const run = (options) => runCommand(world.scope, world.dataDir, args, options);
  let running = run({ killAfterMillis: victim === 'backup' ? randomInt(300, 4000) : Infinity });
  if (victim === 'service' || victim === 'postgres') {
    await delay(randomInt(200, 3000));
    await (victim === 'service' ? world.killService() : world.killPostgres());
  }
  for (;;) {
    const { code, output } = await running;
    if (code === 0) break;
    if (code === null) sum.killedBackups += 1;
    else sum.failedBackups += 1;
    // 5 says that the database was not there, or went away.
    if (![null, 5].includes(code)) world.faults.push(`backup ended with ${code}: ${output}`);
    await delay(500);
    running = run();
  }
  await until('the service to answer', () =>
    world.call('GET', '/me').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  sum[kind] += 1;
  return { records, incidents, what: `${kind} backup, killed ${victim}` };
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

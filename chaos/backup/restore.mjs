import { randomInt } from 'node:crypto';
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formatDigest, sumDigests } from '../../packages/server/dist/kernel/digest.js';
import { openDatabase } from '../lib/database.mjs';
import { eachRecord } from '../lib/records.mjs';
import { call, killRole, startRole, stopRole } from '../lib/role.mjs';
import { until } from '../lib/wait.mjs';
import { finishRun } from '../retention/copies.mjs';
import { digestOf } from '../retention/load.mjs';
import { runCommand } from './command.mjs';

const openRows = `select idempotency_key as key, status, attempts::int from deliveries`;

/** Tries the newest backup by `restore --drill`; every other time the first attempt is killed. */
export async function drill(world) {
  await insist(world, world.dataDir, ['restore', world.place, '--drill']);
  world.sum.drills += 1;
}

/**
 * Restores the newest backup beside the running original, and starts a service on it: first without a drainer, to look
 * at what is there, then with one.
 */
export async function playRestore(world, { records, incidents, round }) {
  const { scope, sum } = world;
  const dataDir = join(world.dir, `restored-${round}`);
  mkdirSync(dataDir);
  // Neither is in the backup: whoever restores has them.
  for (const name of ['secret-key', 'admin-token']) {
    copyFileSync(join(world.dataDir, name), join(dataDir, name));
  }
  await insist(world, dataDir, ['restore', world.place]);
  const start = (roles) => startRole(scope, dataDir, roles, world.settings);
  let service = await start('api,retention,exports');
  const on = {
    call: (method, path, body) =>
      call({ origin: service.url, token: world.token }, method, path, body),
  };
  try {
    const database = openDatabase(dataDir);
    await judgeRecords(world, on, records);
    const before = await database.rows(openRows);
    const kept = new Set(
      before.filter(({ status }) => status !== 'discarded').map(({ key }) => key),
    );
    const acknowledged = incidents.flatMap(({ keys }) => keys);
    sum.deliveriesRestored += acknowledged.length;
    sum.lostRestored += acknowledged.filter((key) => !kept.has(key)).length;
    await killRole(service);
    // From here on both send what was open at the moment of the backup, under the same webhook-id.
    for (const { key, status } of before)
      if (status !== 'delivered') world.leased.set(key, Infinity);
    service = await start('api,drainer,retention,exports');
    await finishRun(on);
    await until('the restored service to deliver', async () => {
      // An endpoint that fails pauses, and what is queued there waits.
      const due = await database.rows(`select from deliveries d
        join webhook_endpoints e on e.id = d.endpoint_id and e.url like '%/steady'
        where d.status = 'queued' and d.next_attempt_at <= now() limit 1`);
      return due.length === 0;
    });
    const after = new Map((await database.rows(openRows)).map((row) => [row.key, row]));
    for (const { key, status, attempts } of before) {
      const isTriedAgain = after.get(key)?.attempts !== attempts;
      if (status === 'delivered' && isTriedAgain) sum.repeated += 1;
      else if (isTriedAgain) sum.sentAgain += 1;
    }
    await judgeHealth(world, dataDir);
    const exitCode = await stopRole(service);
    if (exitCode !== 0) world.faults.push(`the restored service ended with ${exitCode}`);
    sum.restores += 1;
  } finally {
    if (!service.child.hasExited()) await stopRole(service);
    rmSync(dataDir, { recursive: true, maxRetries: 5 });
  }
}

/** Runs a restore until it succeeds. Every other one of both kinds, which take turns, is killed before. */
async function insist(world, dataDir, args) {
  const turn = (world.sum.drills + world.sum.restores) % 4;
  for (let isKilled = turn === 1 || turn === 2; ; isKilled = false) {
    const killAfterMillis = isKilled ? randomInt(500, 8000) : Infinity;
    const { code, output } = await runCommand(world.scope, dataDir, args, { killAfterMillis });
    if (code === 0) return;
    if (code === null) world.sum.restoreKills += 1;
    else {
      world.faults.push(`${args.join(' ')} ended with ${code}: ${output}`);
      throw new Error(world.faults.at(-1));
    }
    await delay(200);
  }
}

/** Reads all records of the restored service, and compares them with its counters and with what was sent. */
async function judgeRecords(world, on, acknowledged) {
  const { sum } = world;
  const { sent, tenants } = world.records;
  const found = new Set();
  for (const tenant of tenants) {
    const digests = [];
    for await (const record of eachRecord(on, tenant)) {
      const digest = digestOf(record);
      digests.push(digest);
      found.add(record.event_id);
      const own = sent.get(record.event_id);
      if (own === undefined || digestOf(own) !== digest) sum.foreign += 1;
    }
    const { json } = await on.call('GET', `/enrichment/datasets?level=tenant&tenant=${tenant}`);
    const leaf = { count: json.data[0]?.count ?? 0, digest: json.data[0]?.digest };
    const digest = formatDigest(sumDigests(digests));
    if (leaf.count !== digests.length || (leaf.count > 0 && leaf.digest !== digest)) {
      sum.wrongLeaves += 1;
    }
  }
  sum.recordsRestored += found.size;
  for (const id of acknowledged) if (!found.has(id)) sum.missing += 1;
}

/** Asks doctor. What it calls a problem is one, whatever the exit code. */
async function judgeHealth(world, dataDir) {
  const { output } = await runCommand(world.scope, dataDir, ['doctor', '--json']);
  const [text = '[]'] = /^\[.*\]$/ms.exec(output) ?? [];
  for (const finding of JSON.parse(text)) {
    if (finding.severity !== 'problem') continue;
    world.sum.findings += 1;
    world.faults.push(`doctor: ${JSON.stringify(finding)}`);
  }
}

/** Verifies each backup that is in the place in the end. */
export async function judgePlace(world) {
  const run = (args) => runCommand(world.scope, world.dataDir, ['backup', ...args]);
  const { output } = await run(['ls', world.place, '--json', 'id']);
  const ids = [...output.matchAll(/"id":\s*"([^"]+)"/g)].map(([, id]) => id);
  let wrongBackups = 0;
  for (const id of ids) {
    const { code, output: said } = await run(['verify', world.place, '--id', id]);
    if (code === 0) continue;
    wrongBackups += 1;
    world.faults.push(`backup verify --id ${id} ended with ${code}: ${said}`);
  }
  const [{ open }] = await world.database.rows(
    `select (select count(*) from object_removals where remove_after < now() - interval '1 minute')::int as open`,
  );
  const [{ rows }] = await world.database.rows(
    `select count(*)::int as rows from backups where finished_at is null`,
  );
  return { keptBackups: ids.length, wrongBackups, held: open, openRuns: rows };
}

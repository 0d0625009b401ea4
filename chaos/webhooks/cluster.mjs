import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../lib/database.mjs';
import { call, killPostgres, killRole, startRole } from '../lib/role.mjs';

const drainerCount = 2;

const settings = {
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  // Leases outlive it by 15 seconds.
  SVC_WEBHOOK_TIMEOUT_SECONDS: '2',
  SVC_DATABASE_CONNECTIONS: '10',
};

/** One `svcctl serve` with the role api, two with the role drainer, on one PostgreSQL of their own. */
export async function startCluster(scope, dir) {
  const dataDir = join(dir, 'data');
  mkdirSync(dataDir);
  const api = await startRole(scope, dataDir, 'api', settings);
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const drainers = [];
  const startDrainer = async (at) => {
    drainers[at] = await startRole(scope, dataDir, 'drainer', settings);
  };
  for (let at = 0; at < drainerCount; at += 1) await startDrainer(at);
  const database = openDatabase(dataDir);
  return {
    database,
    drainerCount,
    call: (method, path, body) => call({ origin: api.url, token }, method, path, body),
    killDrainer: (at) => killRole(drainers[at]),
    startDrainer,
    freezeDrainer: (at) => process.kill(drainers[at].child.pid, 'SIGSTOP'),
    thawDrainer: (at) => process.kill(drainers[at].child.pid, 'SIGCONT'),
    killPostgres: () => killPostgres(database),
  };
}

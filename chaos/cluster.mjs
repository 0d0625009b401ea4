import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, startChild, untilReady } from '../bench/lib/child.mjs';
import { programPath } from '../bench/lib/product.mjs';
import { openScope } from '../bench/lib/scope.mjs';
import { openDatabase } from './database.mjs';
import { until } from './wait.mjs';

const drainerCount = 2;

/** One `svcctl serve` with the role api, two with the role drainer, on one PostgreSQL of their own. */
export async function startCluster(scope, dir) {
  const dataDir = join(dir, 'data');
  mkdirSync(dataDir);
  const api = await startRole(scope, dataDir, 'api');
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  const drainers = [];
  const startDrainer = async (at) => {
    drainers[at] = await startRole(scope, dataDir, 'drainer');
  };
  for (let at = 0; at < drainerCount; at += 1) await startDrainer(at);
  const database = openDatabase(dataDir);
  return {
    database,
    drainerCount,
    call: (method, path, body) => call({ origin: api.url, token }, method, path, body),
    async killDrainer(at) {
      process.kill(drainers[at].child.pid, 'SIGKILL');
      await until('a killed drainer to be gone', () => drainers[at].child.hasExited());
      await drainers[at].own.close();
    },
    startDrainer,
    /** It comes back by itself: the services see to that. */
    async killPostgres() {
      const pid = database.postmaster();
      process.kill(pid, 'SIGKILL');
      await until('another PostgreSQL', () => ![pid, undefined].includes(database.postmaster()));
    },
  };
}

async function startRole(scope, dataDir, role) {
  // A scope of its own, so that what was killed is forgotten at once.
  const own = openScope();
  scope.defer(own.close);
  const child = startChild(
    own,
    [programPath, 'serve'],
    cleanEnvironment({
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
      SVC_ROLES: role,
      SVC_RATE_LIMIT: '0',
      SVC_ALLOW_TARGETS: '127.0.0.0/8',
      // Leases outlive it by 15 seconds.
      SVC_WEBHOOK_TIMEOUT_SECONDS: '2',
      SVC_DATABASE_CONNECTIONS: '10',
      SVC_LOG_LEVEL: 'error',
    }),
  );
  const url = await untilReady(child, () => announcedUrl(dataDir, child.pid));
  return { own, child, url };
}

function announcedUrl(dataDir, pid) {
  try {
    const announced = JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8'));
    return announced.pid === pid ? announced.url : undefined;
  } catch {
    return undefined;
  }
}

async function call({ origin, token }, method, path, body) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}

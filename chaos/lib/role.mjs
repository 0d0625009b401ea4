import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, startChild, untilReady } from '../../bench/lib/child.mjs';
import { programPath } from '../../bench/lib/product.mjs';
import { openScope } from '../../bench/lib/scope.mjs';
import { until } from './wait.mjs';

/** `svcctl serve` with some roles, as a child process that may be killed; `program` may be another release's. */
export async function startRole(scope, dataDir, roles, settings = {}, program = programPath) {
  // A scope of its own, so that what was killed is forgotten at once.
  const own = openScope();
  scope.defer(own.close);
  const child = startChild(
    own,
    [program, 'serve'],
    cleanEnvironment({
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
      SVC_ROLES: roles,
      SVC_RATE_LIMIT: '0',
      SVC_LOG_LEVEL: 'error',
      ...settings,
    }),
  );
  const url = await untilReady(child, () => announcedUrl(dataDir, child.pid));
  return { own, child, url };
}

/** By kill -9. */
export async function killRole({ child, own }) {
  process.kill(child.pid, 'SIGKILL');
  await until('a killed service to be gone', () => child.hasExited());
  await own.close();
}

/** By SIGTERM. Answers its exit code. */
export async function stopRole({ child, own }) {
  process.kill(child.pid, 'SIGTERM');
  await until('a service to end after SIGTERM', () => child.hasExited());
  await own.close();
  return child.exitCode();
}

/** By kill -9; it comes back by itself: the services see to that. */
export async function killPostgres(database) {
  const pid = database.postmaster();
  process.kill(pid, 'SIGKILL');
  await until('another PostgreSQL', () => ![pid, undefined].includes(database.postmaster()));
}

function announcedUrl(dataDir, pid) {
  try {
    const announced = JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8'));
    return announced.pid === pid ? announced.url : undefined;
  } catch {
    return undefined;
  }
}

/** Asks the API; answers status and parsed body. */
export async function call({ origin, token }, method, path, body, headers = {}) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, json: text === '' ? null : JSON.parse(text) };
}

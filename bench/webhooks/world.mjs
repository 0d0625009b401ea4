import { cleanEnvironment, startChild, untilReady } from '../lib/child.mjs';
import { connect } from '../lib/postgres.mjs';
import { startService } from '../lib/service.mjs';

const settings = { SVC_ALLOW_TARGETS: '127.0.0.0/8' };

/** A service with these roles on a database of its own, ready to send to this machine. */
export async function startWorld(scope, { dir, postgres, name, roles = 'api,drainer' }) {
  const databaseUrl = await postgres.createDatabase(scope, `bench_${name}`);
  const service = await startService(scope, {
    dir,
    name,
    databaseUrl,
    settings: { ...settings, SVC_ROLES: roles },
  });
  const client = await connect(scope, databaseUrl);
  return { ...service, databaseUrl, client, call: (...call) => callApi(service, ...call) };
}

/** Another process on the database of a world, such as a drainer. */
export function startRole(scope, { dir, name, world, roles }) {
  return startService(scope, {
    dir,
    name,
    databaseUrl: world.databaseUrl,
    token: world.token,
    settings: { ...settings, SVC_ROLES: roles },
  });
}

async function callApi({ origin, token }, method, path, body) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

export async function addEndpoint(world, tenant, url, more = {}) {
  return world.call('POST', '/webhook/endpoints', { tenant, url, ...more });
}

/** The receiver as a process of its own. */
export async function startReceiverProcess(scope) {
  const path = new URL('receiver.mjs', import.meta.url).pathname;
  const child = startChild(scope, [path], cleanEnvironment());
  const url = await untilReady(child, async () => /^http:\S+/.exec(child.output())?.[0]);
  const ask = async (method) => (await fetch(`${url}/stats`, { method })).json();
  return { url, pid: child.pid, stats: () => ask('GET'), reset: () => ask('DELETE') };
}

/** Waits until `probe` answers something other than undefined. */
export async function until(probe, timeoutMillis = 600_000) {
  const deadline = performance.now() + timeoutMillis;
  for (;;) {
    const answer = await probe();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error('waited too long');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

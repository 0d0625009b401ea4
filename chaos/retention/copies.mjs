import { randomInt } from 'node:crypto';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { call, killRole, startRole } from '../lib/role.mjs';
import { until } from '../lib/wait.mjs';

/**
 * Clones the database under load, starts a second service on it and the same store, and has both run
 * retention while either is killed. The original goes on afterwards, if need be by adopting the store.
 * Answers what both said of the store before that and after, and which objects the clone wrote.
 */
export async function playClone(world, { scope, name, isCopyFirst }) {
  // Killed in whatever it is at, and silent until the clone has run.
  if (isCopyFirst) await killRole(world.service);
  await world.database.clone(name);
  const copy = await startCopy(world, scope, name);
  try {
    await finishRun(copy);
    if (isCopyFirst) await world.startService();
    const victims = [() => world.killService(), () => copy.kill()];
    const asked = copy.call('POST', '/retention/run', {}).catch(() => {});
    await delay(randomInt(300));
    await victims[randomInt(2)]();
    await asked;
    // The load has the original run again and again; each of its runs asks the store.
    const states = await until('one of two copies to stand still', async () => {
      const found = [await stateOf(world), await stateOf(copy)];
      return new Set(found).size === 2 ? found : null;
    });
    const written = await objectsOf(world, name);
    if (states[0] !== 'own') await insist(world, 'POST', '/retention/adopt-store');
    const after = [await stateOf(world), await stateOf(copy)];
    return { states, after, written };
  } finally {
    await copy.kill({ starts: false });
    await world.database.drop(name);
  }
}

/** It removes nothing, or the original would miss it: whoever comes second misses what the first removes. */
async function startCopy(world, scope, name) {
  const dataDir = join(world.dataDir, '..', name);
  mkdirSync(dataDir);
  copyFileSync(join(world.dataDir, 'secret-key'), join(dataDir, 'secret-key'));
  const start = () =>
    startRole(scope, dataDir, 'api,retention', {
      SVC_RETENTION_SCHEDULE: 'off',
      SVC_COLD_GRACE_SECONDS: '36000',
      SVC_DATABASE_CONNECTIONS: '12',
      SVC_BLOB_URL: pathToFileURL(join(world.dataDir, 'cold')).href,
      DATABASE_URL: world.database.urlOf(name),
    });
  let service = await start();
  return {
    call: (method, path, body) =>
      call({ origin: service.url, token: world.token }, method, path, body),
    async kill({ starts = true } = {}) {
      await killRole(service);
      if (starts) service = await start();
    },
  };
}

/** Until it is answered: the other one may be killed at any moment, and connections break. */
export function insist({ call: ask }, method, path, body) {
  return until(`an answer to ${path}`, () =>
    ask(method, path, body).then(
      (answer) => (answer.status < 300 ? answer.json : null),
      () => null,
    ),
  );
}

export async function finishRun(on) {
  const { id } = await insist(on, 'POST', '/retention/run', {});
  return until(
    'a run of retention',
    async () => {
      const run = await insist(on, 'GET', `/retention/runs/${id}`);
      return ['completed', 'failed'].includes(run.state) ? run : null;
    },
    180_000,
  );
}

async function stateOf(on) {
  return (await insist(on, 'GET', '/retention/store')).state;
}

/** What the clone has written, or was about to: nobody needs it any more. */
async function objectsOf(world, name) {
  const client = await world.database.connect(name);
  const { rows } = await client
    .query("select object_key from move_segments where role = 'out'")
    .finally(() => client.end());
  return rows.map(({ object_key }) => object_key);
}

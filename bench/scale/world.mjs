import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../lib/client.mjs';
import { residentBytes } from '../lib/memory.mjs';
import { connect } from '../lib/postgres.mjs';
import { withScope } from '../lib/scope.mjs';
import { startService } from '../lib/service.mjs';
import { generateWorld } from './generate.mjs';

/** How long a service rests before its memory is read. */
const restMillis = 5000;

/** A small and a large world of the same shape, one after the other on one PostgreSQL. */
export async function startWorlds({ scope, dir, postgres, sizes, say }) {
  const worlds = [];
  for (const [name, records] of [
    ['small', sizes.base],
    ['large', sizes.records],
  ]) {
    worlds.push(await startWorld({ scope, dir, postgres, name, records, sizes, say }));
  }
  const [small, large] = worlds;
  return { small, large };
}

async function startWorld({ scope, dir, postgres, name, records, sizes, say }) {
  const databaseUrl = await postgres.createDatabase(scope, `bench_scale_${name}`);
  const options = {
    dir,
    name: `scale-${name}`,
    databaseUrl,
    settings: { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' },
  };
  const coldDir = join(dir, options.name, 'cold');
  const startedAt = performance.now();
  // The first start makes the tables, the token and the mark of the store.
  await withScope(scope, (own) => startService(own, options));
  const made = await withScope(scope, async (own) => {
    const db = await connect(own, databaseUrl);
    return generateWorld({ scope: own, dir, db, coldDir, records, perDay: sizes.perDay, say });
  });
  const madeMillis = performance.now() - startedAt;
  const db = await connect(scope, databaseUrl);
  const { rows } = await db.query('select pg_database_size(current_database())::float8 as bytes');
  const [startMillis, service] = await timed(() => startService(scope, options));
  await delay(restMillis);
  return {
    ...made,
    madeMillis,
    startMillis,
    idleBytes: residentBytes(service.pid),
    databaseBytes: rows[0].bytes,
    db,
    service,
    client: createClient(scope, service),
  };
}

/** Answers how long work took, in milliseconds, and its result. */
export async function timed(work) {
  const startedAt = performance.now();
  const result = await work();
  return [performance.now() - startedAt, result];
}

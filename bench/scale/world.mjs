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

/** A small and a large world of the same shape on one PostgreSQL. Both are made before a service starts on either. */
export async function startWorlds({ scope, dir, postgres, sizes, say }) {
  const make = (name, records) => makeWorld({ scope, dir, postgres, name, records, sizes, say });
  const made = [await make('small', sizes.base), await make('large', sizes.records)];
  const [small, large] = [await startWorld(scope, made[0]), await startWorld(scope, made[1])];
  return { small, large };
}

async function makeWorld({ scope, dir, postgres, name, records, sizes, say }) {
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
  return { ...made, madeMillis: performance.now() - startedAt, options };
}

async function startWorld(scope, { options, ...made }) {
  const db = await connect(scope, options.databaseUrl);
  const { rows } = await db.query('select pg_database_size(current_database())::float8 as bytes');
  const [startMillis, service] = await timed(() => startService(scope, options));
  await delay(restMillis);
  return {
    ...made,
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

import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { flightLines } from '../../packages/server/demo/flights.mjs';
import { cleanEnvironment, startChild, untilReady } from './child.mjs';
import { createClient, ingestFile } from './client.mjs';
import { connect } from './postgres.mjs';
import { programPath } from './product.mjs';
import { withScope } from './scope.mjs';
import { formatCount } from './table.mjs';

/** Nothing moves by itself, and what was moved goes at once. */
export const coldSettings = { SVC_RETENTION_SCHEDULE: 'off', SVC_COLD_GRACE_SECONDS: '0' };

/**
 * `svcctl serve` as a child process on the given database, its data folder in `dir` under `name`. The
 * first service of a database makes its admin token; a further one is given it. `program` is what Node is given instead of
 * the program.
 *
 * @param {any} scope
 * @param {{ dir: string, name: string, databaseUrl: string, token?: string, settings?: Record<string, string>,
 *   program?: string[], onMessage?: (message: any) => void }} options
 */
export async function startService(
  scope,
  { dir, name, databaseUrl, token, settings = {}, program = [programPath], onMessage },
) {
  const dataDir = join(dir, name);
  mkdirSync(dataDir, { recursive: true });
  const child = startChild(
    scope,
    [...program, 'serve'],
    cleanEnvironment({
      DATABASE_URL: databaseUrl,
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
      SVC_RATE_LIMIT: '0',
      SVC_LOG_LEVEL: 'warn',
      // Processes that share a database share it.
      SVC_SECRET_KEY: 'a key that all processes of the bench share',
      ...settings,
    }),
    onMessage,
  );
  const origin = await untilReady(child, () => readyOrigin(dataDir));
  return {
    pid: child.pid,
    send: child.send,
    origin,
    token: token ?? readFileSync(join(dataDir, 'admin-token'), 'utf8').trim(),
  };
}

/** The service says where it is in `service.json`. */
async function readyOrigin(dataDir) {
  try {
    const { url } = JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8'));
    const { ok } = await fetch(`${url}/readyz`);
    return ok ? url : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A service on a database of its own, with a client, and a connection to the database.
 *
 * @param {any} bench
 * @param {string} name
 * @param {Record<string, string>} settings
 */
export async function startAlone({ scope, dir, postgres }, name, settings = {}) {
  const databaseUrl = await postgres.createDatabase(scope, `bench_${name.replaceAll('-', '_')}`);
  const service = await startService(scope, { dir, name, databaseUrl, settings });
  const client = createClient(scope, service);
  return { databaseUrl, service, client, db: await connect(scope, databaseUrl) };
}

/**
 * A database with the flights, all hot, on which no service runs: what ingest has made of a process's memory says nothing
 * of what follows. Answers the options of services on it, and how many flights there are. `work` is done by the one that
 * stored them.
 *
 * @param {any} bench
 * @param {string} name
 * @param {{ limit: number, tenants?: string[], only?: string, settings?: Record<string, string>,
 *   work?: (side: any) => Promise<unknown> }} options
 */
export async function storeFlights({ scope, dir, postgres, say }, name, options) {
  const { limit, tenants, only, settings = coldSettings, work = async (_side) => {} } = options;
  const databaseUrl = await postgres.createDatabase(scope, `bench_${name}`);
  const ofService = { dir, name, databaseUrl, settings };
  say(`storing ${formatCount(limit)} flights: ${name}`);
  const path = join(dir, `${name}.ndjson`);
  const flights = await writeFlights(path, limit, { tenants, only });
  await withScope(scope, async (own) => {
    const service = await startService(own, ofService);
    const client = createClient(own, service);
    await ingestFile(client, path);
    await work({ service, client });
  });
  await withScope(scope, async (own) => {
    const db = await connect(own, databaseUrl);
    await db.query('vacuum (analyze) enrichment_records');
  });
  return { options: ofService, flights, coldDir: join(dir, name, 'cold') };
}

/**
 * Writes the first `limit` flights of the demo data to a file, one record a line: those of some tenants, or all of them
 * as those of `only` one. Answers how many.
 *
 * @param {string} path
 * @param {number} limit
 * @param {{ tenants?: string[], only?: string }} options
 */
export async function writeFlights(path, limit, { tenants, only } = {}) {
  let count = 0;
  await pipeline(Readable.from(texts()), createWriteStream(path));
  return count;

  async function* texts() {
    for await (const piece of flightLines(limit, tenants)) {
      count += piece.count;
      yield only === undefined
        ? piece.text
        : String(piece.text).replaceAll(/"tenant":"[^"]*"/g, `"tenant":"${only}"`);
    }
  }
}

import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { cleanEnvironment, startChild, untilReady } from '../../bench/lib/child.mjs';
import { programPath, startEmbeddedPostgres } from '../../bench/lib/product.mjs';
import { makeTempDir, openScope, runInScope } from '../../bench/lib/scope.mjs';
import { startPgbouncer } from '../pgbouncer.mjs';
import { announcedUrl } from '../world.mjs';
import { useEverything } from './use.mjs';

/** How the service comes to its database, and whether that must work. */
const poolers = [
  { pooler: 'PostgreSQL itself', mustWork: true },
  { pooler: 'pgbouncer, `default_pool_size = 40`', settings: {}, mustWork: true },
  {
    pooler: '`pool_mode = session`, options dropped, no reset',
    settings: {
      pool_mode: 'session',
      ignore_startup_parameters: 'options,extra_float_digits',
      server_reset_query: '',
    },
    options: '-c datestyle=SQL',
    mustWork: true,
  },
  {
    pooler: '`pool_mode = session`, options in `DATABASE_URL`',
    settings: { pool_mode: 'session' },
    options: '-c jit=off',
    mustWork: false,
  },
  { pooler: '`pool_mode = transaction`', settings: { pool_mode: 'transaction' }, mustWork: false },
  { pooler: '`pool_mode = statement`', settings: { pool_mode: 'statement' }, mustWork: false },
];

const roles = [
  { role: 'as made', settings: {} },
  {
    role: '`SQL, DMY`, `Asia/Kolkata`, `sql_standard`, 1 s',
    settings: {
      datestyle: 'SQL, DMY',
      timezone: 'Asia/Kolkata',
      intervalstyle: 'sql_standard',
      statement_timeout: '1s',
      default_transaction_isolation: 'serializable',
      extra_float_digits: '0',
      bytea_output: 'escape',
    },
  },
];

/** Tries each pooler under each role. The first case, without either, says what all others must come to. */
export function tryPoolers() {
  return runInScope(async (scope) => {
    const dir = makeTempDir(scope);
    // pgbouncer runs as nobody when this runs as root.
    chmodSync(dir, 0o755);
    const server = await startEmbeddedPostgres({ dataDir: join(dir, 'server'), log: () => {} });
    scope.defer(() => server.stop());
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    scope.defer(() => admin.end());
    const { rows } = await admin.query('show server_version');
    const cases = [];
    let expected;
    for (const { role, settings } of roles) {
      for (const { pooler, mustWork, ...how } of poolers) {
        const place = join(dir, String(cases.length));
        mkdirSync(place, { mode: 0o755 });
        const user = `role${cases.length}`;
        await makeDatabase(admin, user, settings);
        const result = await tryCase({ server, place, user, how });
        expected ??= result.seen;
        const isSame = result.seen !== undefined && result.seen === expected;
        cases.push({
          pooler,
          role,
          outcome: isSame ? 'works' : (result.refusal ?? 'works, but with other results'),
          isRight: mustWork ? isSame : result.refusal?.includes('database_unusable') === true,
        });
        process.stderr.write(`${pooler}, ${role}: ${cases.at(-1).outcome}\n`);
      }
    }
    return { cases, version: rows[0].server_version };
  });
}

/** A database of a role that is no superuser, and may make no temporary tables. */
async function makeDatabase(admin, user, settings) {
  await admin.query(`create role ${user} login password 'secret'`);
  for (const [name, value] of Object.entries(settings)) {
    await admin.query(`alter role ${user} set ${name} = '${value}'`);
  }
  await admin.query(`create database ${user} owner ${user}`);
  await admin.query(`revoke temporary on database ${user} from public, ${user}`);
}

/**
 * What was seen through the API when everything was used, or how the start was refused.
 *
 * @param {any} one
 * @returns {Promise<{ seen?: string, refusal?: string }>}
 */
async function tryCase({ server, place, user, how }) {
  const own = openScope();
  try {
    const url = new URL(server.url);
    [url.username, url.password, url.pathname] = [user, 'secret', `/${user}`];
    if (how.settings !== undefined) {
      const given = { place, user, password: 'secret', port: url.port, settings: how.settings };
      url.port = String(await startPgbouncer(own, given));
    }
    if (how.options !== undefined) url.searchParams.set('options', how.options);
    const dataDir = join(place, 'data');
    const settings = {
      DATABASE_URL: url.href.replaceAll('+', '%20'),
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
      SVC_LOG_LEVEL: 'error',
      SVC_ALLOW_TARGETS: '127.0.0.0/8',
      SVC_RETENTION_SCHEDULE: 'off',
    };
    const service = startChild(own, [programPath, 'serve'], cleanEnvironment(settings));
    let origin;
    try {
      origin = await untilReady(service, () => announcedUrl(dataDir, service.pid));
    } catch (error) {
      return { refusal: refusalIn(error.message) };
    }
    await untilServing(origin);
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    return { seen: JSON.stringify(await useEverything(own, { origin, token })) };
  } finally {
    await own.close();
  }
}

function refusalIn(text) {
  const [, sentence, code] = /error: (.+) \((\w+)\)/.exec(text) ?? [];
  return code === undefined
    ? `neither works nor is refused: ${text}`
    : `refused: \`${code}\`, ${sentence}`;
}

async function untilServing(origin) {
  while ((await fetch(`${origin}/readyz`)).status !== 200) await delay(25);
}

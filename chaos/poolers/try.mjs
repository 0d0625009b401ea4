import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { listen } from '../../bench/lib/listen.mjs';
import { startEmbeddedPostgres } from '../../bench/lib/product.mjs';
import { makeTempDir, openScope, runInScope } from '../../bench/lib/scope.mjs';
import { call, startRole } from '../lib/role.mjs';
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
      url.port = await startPgbouncer(own, { place, user, port: url.port, settings: how.settings });
    }
    if (how.options !== undefined) url.searchParams.set('options', how.options);
    const dataDir = join(place, 'data');
    let service;
    try {
      service = await startRole(own, dataDir, 'api,drainer,retention,exports', {
        DATABASE_URL: url.href.replaceAll('+', '%20'),
        SVC_ALLOW_TARGETS: '127.0.0.0/8',
        SVC_RETENTION_SCHEDULE: 'off',
      });
    } catch (error) {
      return { refusal: refusalIn(error.message) };
    }
    await untilServing(service.url);
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    const ask = (...request) => call({ origin: service.url, token }, ...request);
    return { seen: JSON.stringify(await useEverything(own, { ask, origin: service.url, token })) };
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

/** Answers its port. */
async function startPgbouncer(scope, { place, user, port, settings }) {
  const own = await freePort();
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: own,
    unix_socket_dir: '',
    auth_type: 'plain',
    auth_file: join(place, 'users.txt'),
    default_pool_size: 40,
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(join(place, 'users.txt'), `"${user}" "secret"\n`);
  writeFileSync(
    join(place, 'pgbouncer.ini'),
    ['[databases]', `* = host=127.0.0.1 port=${port}`, '[pgbouncer]', ...lines, ''].join('\n'),
  );
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn('pgbouncer', ['-q', ...asUser, join(place, 'pgbouncer.ini')], {
    stdio: 'ignore',
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  scope.defer(async () => {
    child.kill('SIGINT');
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exited;
    clearTimeout(late);
  });
  return own;
}

async function freePort() {
  const server = createServer();
  const { port } = new URL(await listen(server));
  await new Promise((resolve) => server.close(resolve));
  return port;
}

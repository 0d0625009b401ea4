import { spawn } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { cleanEnvironment } from '../bench/lib/child.mjs';
import { programPath } from '../bench/lib/product.mjs';
import { RecordModel, TagModel } from './model.mjs';
import { startIdentity } from './people-model.mjs';
import { startProxy } from './proxy.mjs';
import { startReceiver } from './receiver.mjs';
import { WebhookModel } from './webhook-model.mjs';

/** What the processes of a history do. All roles are there in each; four processes are as many as two cores bear. */
export const layouts = [
  ['api,drainer,retention,exports'],
  ['api,drainer,retention,exports', 'api,drainer,retention,exports'],
  ['api,exports', 'drainer,retention'],
  ['api', 'api,drainer', 'retention,exports', 'drainer,retention'],
];

/** Waits that an operator would choose longer. */
const quickSettings = {
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_WEBHOOK_TIMEOUT_SECONDS: '2',
  SVC_COLD_GRACE_SECONDS: '2',
  SVC_RETENTION_SCHEDULE: 'off',
  SVC_FOUR_EYES: 'lift_hold',
  SVC_BACKUP_MAX_AGE_HOURS: '0',
  SVC_DATABASE_CONNECTIONS: '10',
  // The simulator itself reads nothing while it compares what it has read.
  SVC_EXPORT_STALL_SECONDS: '20',
  SVC_SHUTDOWN_SECONDS: '30',
  // Many times as long as a client takes to notice, also one on a busy machine.
  SVC_SHUTDOWN_LEAD_SECONDS: '3',
  SVC_RATE_LIMIT: '0',
  SVC_TENANT_RATE_LIMIT: '0',
  SVC_LOG_LEVEL: 'warn',
  SVC_SECRET_KEY: 'a key of the simulator, long enough',
};
/** How often clients look which processes are ready, as a load balancer would. */
const lookMillis = 100;
/** What was seen longer ago, since the simulator itself was busy, is looked at again. */
const staleMillis = 500;
/** So long after a fault an answer may still be due to it. */
export const calmMillis = 15_000;
const shim = fileURLToPath(new URL('shim.mjs', import.meta.url));

/**
 * The real service of one history: its processes, their database behind a proxy, a store in a folder, receivers; and the
 * model of what all that must show.
 *
 * @param {any} scope
 * @param {{ ground: any, dir: string, layout: string[], programs?: string[], settings?: Record<string, string> }} options
 *   `ground` has the PostgreSQL; all processes begin with the last release of `programs`, and a restart takes any of them
 */
export async function makeWorld(
  scope,
  { ground, dir, layout, programs = [programPath], settings = {} },
) {
  const store = await ground.openStore(scope, dir);
  const databaseUrl = new URL(await ground.createDatabase(scope));
  const behindProxy = await ground.portOf(scope, dir, databaseUrl);
  const databaseProxy = await startProxy(scope, () => behindProxy);
  const proxied = new URL(databaseUrl);
  proxied.port = String(databaseProxy.port);
  const webhooks = new WebhookModel();
  const receiver = await startReceiver(scope, (path) => webhooks.secretsOf(path));
  const { settings: ofPeople, ...people } = await startIdentity(scope);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  scope.defer(() => agent.destroy());

  /** @type {any} */
  const world = {
    settings: {
      ...{ ...quickSettings, ...ofPeople },
      SVC_EXPORT_ROOTS: join(dir, 'deliveries'),
      ...settings,
    },
    startedAt: Date.now(),
    ...{ dir, store, databaseProxy, receiver, ground, programs, agent },
    ...{ records: new RecordModel(), tags: new TagModel(), webhooks, ...people },
    /** How far each tenant has been followed, and what was told of it. */
    tails: new Map(),
    /** The schedule of each tenant, and the folder into which it delivers. */
    schedules: new Map(),
    /** Versions that no bundle was read of, each with the folder of its bundle once one is begun. */
    versions: [],
    /** Tokens that were minted: by name, whether they may still be used. */
    tokens: new Map(),
    /** So many tenants got a hold, and the token of an admin who may confirm what another asks for. */
    holds: 0,
    somebodyElse: undefined,
    /** Sessions of the portal, each of a tenant. */
    visits: [],
    /** Runs, jobs, versions that were asked for and have to end. */
    pending: [],
    /** What must not be, in words. */
    faults: [],
    /** Markers of records that were erased for good. */
    erased: new Map(),
    processes: layout.map((roles, at) => makeProcess(at, roles, join(dir, `process-${at}`))),
    /** The newest backup, and what it must hold; null when there is none that was not judged yet. */
    backup: null,
    isBackingUp: false,
    /** Bulk retries, which end only when their endpoints are enabled. */
    retries: [],
    /** Replays, of which some have ended, and purges in bulk that have to end. */
    replays: [],
    purges: [],
    /** What clients have seen of things that only grow; see order.mjs. */
    observed: [],
    /** When deliveries may have been sent twice. */
    repeatSpans: [],
    /** When something was last broken on purpose, and how much is broken now. */
    disturbedAt: -Infinity,
    activeFaults: 0,
    isCalm: () => world.activeFaults === 0 && performance.now() - world.disturbedAt > calmMillis,
    token: '',
    say: (text) => void world.faults.push(text),
  };
  const [first] = world.processes;
  scope.defer(() => Promise.all(world.processes.map((each) => endProcess(each, 'SIGKILL'))));
  world.databaseUrl = proxied.href;
  world.rows = (text, values = []) => rowsOf(databaseUrl.href, text, values);
  for (const each of world.processes) {
    await startProcess(world, each, programs.at(-1));
    world.token ||= readFileSync(join(first.dir, 'admin-token'), 'utf8').trim();
  }
  const looking = setInterval(() => world.processes.forEach(look), lookMillis);
  scope.defer(() => clearInterval(looking));
  return world;
}

/** A process of the service that is not started yet. */
export function makeProcess(at, roles, dir) {
  mkdirSync(dir);
  return {
    at,
    roles,
    dir,
    child: null,
    url: '',
    isReady: false,
    looking: null,
    lookedAt: 0,
    kills: 0,
  };
}

/** What a process or a command of this world is told: where its database and its store are. */
export function environmentOf(world, { dir, roles = '' }) {
  return cleanEnvironment({
    ...world.settings,
    SVC_DATA_DIR: dir,
    SVC_PORT: '0',
    ...(roles !== '' && { SVC_ROLES: roles }),
    SVC_BLOB_URL: world.store.url,
    ...world.store.environment,
    DATABASE_URL: world.databaseUrl,
    NODE_OPTIONS: `--import=${shim}`,
    SIMULATED: join(dir, 'simulated.json'),
  });
}

/** Starts a process and waits until it is ready. One that finds no database is started again, as a supervisor does. */
export async function startProcess(world, each, program = world.programs[0]) {
  control(world, each, {});
  spawnProcess(world, each, program);
  await until(`process ${each.at} (${each.roles}) to be ready`, async () => {
    if (each.child.exitCode !== null) {
      const words = lastWords(each);
      if (!words.includes('(database_unavailable)'))
        throw new Error(`process ${each.at} ended with ${each.child.exitCode}: ${words}`);
      spawnProcess(world, each, program);
    }
    each.url = announcedUrl(each.dir, each.child.pid) ?? '';
    each.isReady = each.url !== '' && (await statusOf(`${each.url}/readyz`)) === 200;
    return each.isReady;
  });
}

function spawnProcess(world, each, program) {
  const log = openSync(join(each.dir, 'log'), 'a');
  const child = spawn(process.execPath, [program, 'serve'], {
    env: environmentOf(world, each),
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  each.child = child;
  each.url = '';
  each.exited = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
}

/** Looks whether a process is ready, unless somebody is looking. */
function look(each) {
  const ask = async () => {
    const { url } = each;
    const status = await statusOf(`${url}/readyz`, 500);
    // One that is only late stays what it was; one that came up meanwhile has told so itself.
    if (status !== undefined && url === each.url) each.isReady = status === 200;
    each.lookedAt = performance.now();
  };
  each.looking ??= ask().finally(() => {
    each.looking = null;
  });
  return each.looking;
}

/** Whether another process serves while this one does not. */
export function isReplaceable({ processes }, each) {
  const others = processes.filter((other) => other !== each);
  return !serves(each) || others.some((other) => serves(other) && other.isReady);
}

function serves({ roles }) {
  return roles.includes('api');
}

/** Sends a signal and waits for the end. Answers the exit code, or the name of the signal. */
export async function endProcess(each, signal) {
  const { child } = each;
  if (child === null || child.exitCode !== null || child.signalCode !== null)
    return child?.exitCode ?? null;
  child.kill(signal);
  return each.exited;
}

/** Tells a process how its clock and its store are from now on. */
export function control(world, each, how) {
  const told = {
    clockMillis: 0,
    ...world.store.shimmed,
    storeDelayMillis: 0,
    storeError: null,
    ...how,
  };
  writeFileSync(join(each.dir, 'simulated.json'), JSON.stringify(told));
}

/**
 * Calls the API at one of the processes that serve it and are ready. `status` is 0 where no whole answer came: then
 * nobody knows what was done, unless `isRefused` says that nothing was sent; `wasKilled` says that the process was killed
 * meanwhile. An answer of 500 is a fault whatever goes on. Each call is a line of the file `calls`: from when to when, of
 * which process, what was asked, and how the answer and the body began.
 *
 * @param {any} world
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {{ body?: any, token?: string | null, via?: number, headers?: Record<string, string>, timeoutMillis?: number,
 *   onRequest?: (sent: import('node:http').ClientRequest) => void }} options `via`: at which of them; `token`: null is none;
 *   `onRequest` sends the body itself
 */
export async function call(
  world,
  method,
  path,
  { body, token, via = 0, headers = {}, timeoutMillis = 30_000, onRequest } = {},
) {
  const serving = world.processes.filter(serves);
  const since = performance.now() - staleMillis;
  await Promise.all(serving.filter(({ lookedAt }) => lookedAt < since).map(look));
  const up = serving.filter(({ url }) => url !== '');
  const ready = up.filter(({ isReady }) => isReady);
  const each = ready[via % ready.length] ?? up[via % up.length];
  if (each === undefined) return { status: 0, isRefused: true, json: null, text: '', headers: {} };
  const isText = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
  const payload = isText ? body : JSON.stringify(body);
  const { kills } = each;
  const startedAt = new Date().toISOString();
  return new Promise((answered) => {
    const resolve = (answer) => {
      const { status, error, bytes = Buffer.alloc(0) } = answer;
      const said = String(error ?? bytes.subarray(0, 800)).slice(0, 200);
      const line = [startedAt, new Date().toISOString(), each.at, method, path, status, said];
      const begun = String(payload?.slice(0, 400) ?? '');
      appendFileSync(join(world.dir, 'calls'), `${JSON.stringify([...line, begun])}\n`);
      answered(answer);
    };
    const lost = (error) =>
      resolve({
        status: 0,
        isRefused: error.code === 'ECONNREFUSED',
        wasKilled: each.kills > kills,
        error,
        json: null,
        text: '',
        headers: {},
      });
    const sent = httpRequest(`${each.url}/api/v1${path}`, {
      ...{ method, agent: world.agent },
      headers: {
        ...(token !== null && { authorization: `Bearer ${token ?? world.token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: AbortSignal.timeout(timeoutMillis),
    });
    sent.on('error', lost);
    sent.on('response', (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', lost);
      response.on('end', () => {
        if (!response.complete) return lost(new Error('cut'));
        const bytes = Buffer.concat(chunks);
        const isJson = /^application\/(problem\+)?json/.test(
          response.headers['content-type'] ?? '',
        );
        const json = isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : null;
        const { statusCode: status, headers: answered, trailers } = response;
        if (status === 500) world.say(`${method} ${path}: 500 ${bytes.toString('utf8', 0, 300)}`);
        resolve({
          ...{ status, isRefused: false, json, bytes, headers: answered, trailers },
          // Most answers are files or parsed already, and nobody looks at their text.
          get text() {
            return bytes.toString();
          },
        });
      });
    });
    if (onRequest !== undefined) onRequest(sent);
    else sent.end(payload);
  });
}

/** What became of a call that changes something: `done`, `refused` (nothing changed) or `lost` (nobody knows). */
export function outcomeOf({ status, isRefused, json }) {
  if (status >= 200 && status < 300) return 'done';
  if (isRefused || (status >= 400 && status < 500) || json?.code === 'overloaded') return 'refused';
  return 'lost';
}

/**
 * Asks `probe` until it answers something true; throws what was waited for when time is up, which begins anew whenever
 * `progress` says something else.
 */
export async function until(what, probe, timeoutMillis = 60_000, progress = () => '') {
  let deadline = performance.now() + timeoutMillis;
  let last = progress();
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    const now = progress();
    if (now !== last) deadline = performance.now() + timeoutMillis;
    last = now;
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMillis / 1000} s in vain for ${what}`);
    await delay(25);
  }
}

/** Asks a database itself, over a connection of its own. */
export async function rowsOf(url, text, values) {
  const client = new pg.Client({ connectionString: url, application_name: 'simulator' });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Where the service of a data folder listens, if it is this process. */
function announcedUrl(dir, pid) {
  try {
    const announced = JSON.parse(readFileSync(join(dir, 'service.json'), 'utf8'));
    return announced.pid === pid ? announced.url : undefined;
  } catch {
    return undefined;
  }
}

/** The status of an answer: 0 when nobody answers, undefined when nobody does in time. */
async function statusOf(url, timeoutMillis = 2000) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMillis) });
    await response.arrayBuffer();
    return response.status;
  } catch (error) {
    return error.name === 'TimeoutError' ? undefined : 0;
  }
}

/** The end of what a process has logged. */
function lastWords({ dir }) {
  return readFileSync(join(dir, 'log'), 'utf8').slice(-500);
}

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import sql from 'sql-template-tag';
import {
  actorOfToken,
  addAccessRoutes,
  authenticate,
  createRateLimit,
  createSignInCode,
  createToken,
  findOrMakeSigningKey,
  makeFirstAdminToken,
  type NewToken,
} from './access/index.ts';
import type { Settings } from './config/settings.ts';
import { addExportRoutes } from './exports/index.ts';
import { systemClock } from './kernel/clock.ts';
import { AppError, errorCatalogue } from './kernel/errors.ts';
import { addConsole } from './platform/http/console-files.ts';
import { addOriginRoutes } from './platform/http/origin-routes.ts';
import { createHttpServer, type HttpServer } from './platform/http/server.ts';
import type { Log } from './platform/log.ts';
import { createMetrics, type Metrics } from './platform/metrics.ts';
import { type Database, openDatabase } from './platform/postgres/database.ts';
import { startEmbeddedPostgres } from './platform/postgres/embedded.ts';
import { migrate } from './platform/postgres/migrate.ts';
import { rejectCodes } from './records/contract.ts';
import { addRecordsRoutes, createIngest } from './records/index.ts';

export { createLog } from './platform/log.ts';

export type Service = {
  /** Origin, such as http://127.0.0.1:8080. */
  readonly url: string;
  readonly adminTokenPath: string;
  /** Whether this start made the first admin token. */
  readonly isFirstStart: boolean;
  /** A link that signs in to the console once, within an hour; null when there is no admin token. */
  createSignInLink(): Promise<string | null>;
  /** Ends what runs, cuts no request, stops what it started. */
  close(): Promise<void>;
};

type Closers = (() => Promise<unknown>)[];

/**
 * Starts the service with these settings; returns once it is ready. What fails on the way, or is aborted,
 * is undone.
 */
export async function startService(
  settings: Settings,
  log: Log,
  signal: AbortSignal = new AbortController().signal,
): Promise<Service> {
  const closers: Closers = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    await mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
    const db = await openOwnDatabase(settings, log, closers, signal);
    const state: State = { cursorKey: null };
    const http = createHttp(settings, log, db, state);
    closers.push(() => http.fastify.close());
    await http.fastify.listen({ host: settings.host, port: settings.port }).catch(refusePort);
    const adminTokenPath = await untilReachable(log, signal, () => prepare(db, settings, state));
    const url = originOf(settings.host, http.fastify.server.address() as AddressInfo);
    closers.push(await announce(settings.dataDir, url));
    log.info({ url, roles: settings.roles }, 'ready');
    return {
      url,
      adminTokenPath: join(settings.dataDir, 'admin-token'),
      isFirstStart: adminTokenPath !== null,
      createSignInLink: async () => {
        const code = await createSignInCode(db);
        return code === null ? null : `${url}/#/sign-in?code=${code}`;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Makes a token without the API, for who has the database settings but no admin token left. */
export async function createLocalToken(settings: Settings, log: Log, request: NewToken) {
  const closers: Closers = [];
  try {
    const db = await openOwnDatabase(settings, log, closers);
    await migrate(db);
    return await createToken(db, request, { tenants: null, nowMillis: systemClock() });
  } finally {
    for (const closer of closers.reverse()) await closer();
  }
}

/** What is known only once the database has answered; null = not ready yet. */
type State = { cursorKey: Buffer | null };

async function openOwnDatabase(
  settings: Settings,
  log: Log,
  closers: Closers,
  signal?: AbortSignal,
): Promise<Database> {
  const url = settings.databaseUrl ?? (await startOwnPostgres(settings, log, closers, signal));
  const db = openDatabase({
    url,
    maxConnections: settings.databaseConnections,
    onError: (error) => log.warn({ err: error }, 'a database connection broke'),
  });
  closers.push(() => db.close());
  return db;
}

async function startOwnPostgres(
  settings: Settings,
  log: Log,
  closers: Closers,
  signal?: AbortSignal,
): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    dataDir: settings.dataDir,
    ...(signal === undefined ? {} : { signal }),
    // Its coming and going is news only to who looks for a fault.
    log: (level, message, fields) => log[level === 'info' ? 'debug' : level](fields ?? {}, message),
  });
  closers.push(() => postgres.stop());
  return postgres.url;
}

/** Schema, keys and the first token. Answers the path of the admin token if it was made now. */
async function prepare(db: Database, settings: Settings, state: State): Promise<string | null> {
  await migrate(db);
  const path = await makeFirstAdminToken(db, settings.dataDir, systemClock());
  state.cursorKey = await findOrMakeSigningKey(db, 'cursor', randomBytes(32));
  return path;
}

function createHttp(settings: Settings, log: Log, db: Database, state: State): HttpServer {
  const metrics = createMetrics(() => ({
    total: db.pool.totalCount,
    idle: db.pool.idleCount,
    waiting: db.pool.waitingCount,
  }));
  const http = createHttpServer({
    log,
    authenticate: (request) => authenticate(db, request),
    admit: createRateLimit(settings.rateLimit, systemClock),
    assertReady: () => assertReady(state),
  });
  if (settings.roles.includes('api')) addApi(http, settings, log, db, state);
  addOriginRoutes(http, {
    metrics,
    assertReady: async () => {
      assertReady(state);
      await Promise.race([db.query(sql`select 1`), tooLate(2000)]);
    },
    errors: errorCatalogue,
    rejectCodes,
  });
  addConsole(http);
  observe(http, metrics);
  return http;
}

function addApi(http: HttpServer, settings: Settings, log: Log, db: Database, state: State): void {
  addAccessRoutes(http, db, systemClock);
  addRecordsRoutes(http, db, {
    cursorKey: () => cursorKey(state),
    ingest: createIngest(db, {
      maxRecords: settings.ingestMaxRecords,
      maxBatchBytes: settings.ingestMaxBytes,
      maxEnrichmentBytes: settings.enrichmentMaxBytes,
      inFlightBytes: settings.ingestInFlightBytes,
      // The other connections stay free for pages and exports.
      writers: Math.max(1, Math.floor(settings.databaseConnections / 3)),
      clock: systemClock,
    }),
  });
  addExportRoutes(http, db, {
    spillDir: settings.dataDir,
    spillBytes: settings.exportSpillBytes,
    stallMillis: settings.exportStallSeconds * 1000,
    maxConcurrent: Math.min(
      settings.exportMaxConcurrent,
      Math.floor(settings.databaseConnections / 2),
    ),
    actorOf: (tokenId) => actorOfToken(db, tokenId, 'analytics:read'),
    log,
  });
}

function assertReady(state: State): void {
  cursorKey(state);
}

function cursorKey(state: State): Buffer {
  if (state.cursorKey !== null) return state.cursorKey;
  throw new AppError('not_ready', {
    detail: 'The service is starting. Try again in a second.',
    retryAfterSeconds: 1,
  });
}

function observe(http: HttpServer, metrics: Metrics): void {
  http.fastify.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    metrics.observeRequest(
      { method: request.method, route, status: reply.statusCode },
      reply.elapsedTime / 1000,
    );
  });
}

/** A database that is not there yet (both start together) is waited for; any other fault is final. */
async function untilReachable<T>(
  log: Log,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'database_unavailable') throw error;
      log.warn({ cause: String(error.cause) }, 'the database does not answer yet');
      await setTimeout(1000, undefined, { signal });
    }
  }
}

async function tooLate(millis: number): Promise<never> {
  await setTimeout(millis, undefined, { ref: false });
  throw new AppError('database_unavailable', { retryAfterSeconds: 1 });
}

function originOf(host: string, address: AddressInfo): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`;
}

/** Tells commands on this machine where the service is. */
async function announce(dataDir: string, url: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'service.json');
  const text = `${JSON.stringify({ url, pid: process.pid })}\n`;
  await writeFile(path, text);
  return async () => {
    // Another service on this folder may have announced itself since.
    if ((await readFile(path, 'utf8').catch(() => '')) === text) await rm(path, { force: true });
  };
}

function refusePort(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    throw new AppError('settings_invalid', {
      detail: `${error.message}. Another program listens there: stop it, or set SVC_PORT.`,
    });
  }
  throw error;
}

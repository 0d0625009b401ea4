import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  auditLocally,
  createSignInCode,
  createToken,
  describeToken,
  findOrMakeSigningKey,
  makeFirstAdminToken,
  type NewToken,
  readAuditHead,
} from './access/index.ts';
import { announce, originOf } from './app/announce.ts';
import { openColdTier } from './app/cold-tier.ts';
import { makeDataDir } from './app/data-dir.ts';
import { naming, openOwnDatabase, untilReachable, withOwnDatabase } from './app/database.ts';
import { createExportJobs } from './app/exports.ts';
import { createHttp } from './app/http.ts';
import { createKeys, type Keys } from './app/keys.ts';
import { createProcessMetrics } from './app/metrics.ts';
import { createNotices } from './app/notices.ts';
import { createSumming } from './app/overview.ts';
import { createOwnPresence } from './app/presence.ts';
import { createRetention } from './app/retention.ts';
import type { State } from './app/state.ts';
import { createCounting } from './app/versions.ts';
import { createBulkJobs, startDelivery, startDrainer } from './app/webhooks.ts';
import { readRelease } from './config/release.ts';
import type { Settings } from './config/settings.ts';
import { systemClock } from './kernel/clock.ts';
import { AppError } from './kernel/errors.ts';
import { serveMetrics } from './platform/http/metrics-route.ts';
import type { HttpServer } from './platform/http/server.ts';
import type { Log } from './platform/log.ts';
import type { Metrics } from './platform/metrics/metrics.ts';
import type { Database } from './platform/postgres/database.ts';
import {
  type Cluster,
  distribute,
  distributeSmall,
  missingOf,
  needCluster,
} from './platform/postgres/distribute.ts';
import { listNewerMigrations, migrate } from './platform/postgres/migrate.ts';
import { openTraces, type Traces } from './platform/traces.ts';
import { createPace, createWaiting, type Paced } from './platform/work/pace.ts';
import {
  type Closers,
  type Cuts,
  endInTime,
  stopTogether,
  withClosers,
} from './platform/work/stop.ts';
import { createWakeUp } from './webhooks/index.ts';

export { backUp, listPlace, verifyBackup } from './app/backup.ts';
export { examineHere } from './app/examine-here.ts';
export { verifyExport } from './app/exports.ts';
export { listKeys, replaceLostKey, rotateKeys } from './app/keys.ts';
export { recountRecords } from './app/recount.ts';
export { restoreBackup } from './app/restore.ts';
export { checkOwnSchema, nameSchema } from './app/schema.ts';
export { createLog } from './platform/log.ts';

/** The running service, as `startService` returns it once requests are answered. */
export type Service = {
  /** The origin on which it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The origin at which people reach it: `SVC_PUBLIC_URL`, or `url` when that is unset. */
  readonly publicUrl: string;
  /** Where the metrics are on a port of their own; null without `SVC_METRICS_PORT`. */
  readonly metricsUrl: string | null;
  readonly adminTokenPath: string;
  /** Whether this start made the first admin token. */
  readonly isFirstStart: boolean;
  /**
   * Makes a link that signs in to the console once and expires after an hour; null when there is no admin token, or when
   * this process has not the role `api`.
   */
  createSignInLink(): Promise<string | null>;
  /**
   * Still serves for `SVC_SHUTDOWN_LEAD_SECONDS` or until `hurry` aborts, while `/readyz` answers 503 and each answer
   * closes its connection. Without the role `api` nobody sends requests here, so it returns at once.
   */
  leave(hurry: AbortSignal): Promise<void>;
  /**
   * Lets running work end and stops everything that was started. What takes too long is cut, and the promise settles
   * within `SVC_SHUTDOWN_SECONDS` at the latest.
   */
  close(): Promise<void>;
};

/**
 * Starts the service with these settings and returns once it is ready. When a step fails or the signal aborts, what was
 * started before is closed again and the error is thrown on.
 */
export async function startService(
  settings: Settings,
  log: Log,
  signal: AbortSignal = new AbortController().signal,
): Promise<Service> {
  const closers: Closers = [];
  const cuts: Cuts = { requests() {}, attempts() {}, database() {} };
  const close = () => endInTime(closers, { millis: settings.shutdownSeconds * 1000, cuts, log });
  try {
    await makeDataDir(settings);
    const db = await openOwnDatabase(settings, log, closers, signal);
    cuts.database = () => db.cut();
    const state: State = { cursorKey: null, secretBox: null };
    const metrics = await createProcessMetrics(db, {
      settings,
      storeState: () => cold.watch.state().state,
    });
    const traces = await openOwnTraces(settings, log, closers);
    const wakeUp = createWakeUp(db, (error) => log.warn({ err: error }, 'no drainer was woken'));
    const cold = await openColdTier(settings, { db, log }, closers);
    const keys = createKeys(db, { settings, state });
    const presence = createOwnPresence(db, {
      ...{ settings, log, command: 'serve', watch: cold.watch, keys },
    });
    // Only when all else has ended: until then it may hold what others wait for.
    closers.push(() => presence.stop());
    const waiting = createWaiting();
    const paceOf = (work: Paced) =>
      createPace({
        // Who waits for a connection has a request that waits longer, whatever has taken the connections.
        isAwaited: () => waiting.isAny() || db.waiting() > 0,
        onRest: (seconds) => metrics.observeRest(work, seconds),
      });
    const retention = createRetention(db, { settings, log, cold, paceOf });
    const counting = createCounting(db, { settings, log, cold, pace: paceOf('versions') });
    const jobs = createExportJobs(db, { settings, log, cold, pace: paceOf('exports') });
    const bulkJobs = createBulkJobs(db, { settings, log, wakeUp, pace: paceOf('retries') });
    const summing = createSumming(db, { settings, log });
    const notices = createNotices(db, { settings, log, state, cold });
    const own = { settings, log, db, state, metrics, traces, closers };
    const parts = { ...own, waiting, wakeUp, cold, presence };
    const http = createHttp({ ...parts, retention, counting, jobs, bulkJobs, notices });
    // They all stop at the same time: a webhook that takes long must not delay the end of requests or of other work.
    const works: { stop(): Promise<unknown> }[] = [{ stop: () => http.fastify.close() }];
    closers.push(() => stopTogether(works, log));
    cuts.requests = () => http.cutConnections();
    // `localhost` has several addresses. Fastify would open one server for each, and only the first would have our
    // guards.
    const host = settings.host === 'localhost' ? '127.0.0.1' : settings.host;
    await http.fastify.listen({ host, port: settings.port }).catch(refusePort('SVC_PORT'));
    const metricsUrl = await listenForMetrics(settings, metrics, closers);
    const adminTokenPath = await untilReachable(settings, { log, signal }, () =>
      prepare(db, { settings, log, state, keys, signal }),
    );
    if (settings.roles.includes('drainer')) {
      const { drainer, forgetting } = startDrainer(db, own);
      wakeUp.attach(drainer);
      cuts.attempts = () => drainer.cut();
      works.push(drainer, forgetting);
    }
    // A process that is only a drainer reads no cold data, so it need not watch the store.
    if (settings.roles.some((role) => role !== 'drainer')) cold.watch.start();
    for (const work of [retention, counting, jobs, bulkJobs, summing, notices]) {
      work.start();
      works.push(work);
    }
    const url = originOf(settings.host, http.fastify.server.address() as AddressInfo);
    await presence.start(url);
    closers.push(await announce(settings.dataDir, url, { log }));
    // Where logs are collected, it stands beyond the reach of whoever could change the audit log.
    const auditHead = await readAuditHead(db);
    log.info({ url, roles: settings.roles, auditHead }, 'ready');
    const publicUrl = settings.publicUrl ?? url;
    return {
      url,
      publicUrl,
      metricsUrl,
      adminTokenPath: join(settings.dataDir, 'admin-token'),
      isFirstStart: adminTokenPath !== null,
      createSignInLink: async () => {
        const code = settings.roles.includes('api') ? await createSignInCode(db) : null;
        return code === null ? null : `${publicUrl}/#/sign-in?code=${code}`;
      },
      leave: (hurry) => leave(http, { settings, log, hurry }),
      close,
    };
  } catch (error) {
    // Why it did not start is what its caller must hear of.
    await close().catch(() => {});
    throw error;
  }
}

/** Still serves for a while, and has each answer close its connection; see `leave` of `Service`. */
async function leave(
  http: HttpServer,
  { settings, log, hurry }: { settings: Settings; log: Log; hurry: AbortSignal },
): Promise<void> {
  const seconds = settings.roles.includes('api') ? settings.shutdownLeadSeconds : 0;
  http.leave();
  if (seconds === 0) return;
  log.info({ seconds }, 'leaving: serves until load balancers have noticed');
  // It rejects when the signal aborts, which only means that the time is over.
  await setTimeout(seconds * 1000, undefined, { signal: hurry }).catch(() => {});
  log.info('stopping');
}

/** Opens the sending of traces, if there is a collector for them. */
async function openOwnTraces(
  { otlpEndpoint, roles }: Settings,
  log: Log,
  closers: Closers,
): Promise<Traces | null> {
  if (otlpEndpoint === undefined) return null;
  const traces = await openTraces(otlpEndpoint, { version: readRelease(), roles, log });
  closers.push(() => traces.stop());
  return traces;
}

/**
 * Makes a token without the API. It is for operators who have the settings of the database but no admin token left. The
 * token is written to the audit log as made by "this machine".
 */
export async function createLocalToken(settings: Settings, log: Log, request: NewToken) {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    return db.transaction(async (connection) => {
      const maker = { creator: null, nowMillis: systemClock() };
      const made = await createToken(connection, request, maker);
      await auditLocally(connection, 'this machine', {
        action: 'token.create',
        target: made.id,
        after: describeToken(made),
      });
      return made;
    });
  });
}

/**
 * Runs a drainer, as `serve` would with the same settings, until only paused deliveries are due or the signal aborts.
 * Returns how many attempts succeeded and how many failed.
 */
export async function drainOnce(
  given: Settings,
  log: Log,
  signal: AbortSignal,
): Promise<{ delivered: number; failed: number }> {
  const settings: Settings = { ...given, roles: ['drainer'] };
  const sum = { delivered: 0, failed: 0 };
  await withClosers(log, async (closers) => {
    await makeDataDir(settings);
    const db = await openOwnDatabase(settings, log, closers, signal);
    await naming(settings, () => migrate(db, signal));
    const state: Pick<State, 'secretBox'> = { secretBox: null };
    const keys = createKeys(db, { settings, state });
    await keys.refresh();
    // It also keeps the keys as they are.
    const presence = createOwnPresence(db, { settings, log, command: 'drain', keys });
    closers.push(() => presence.stop());
    await presence.start(null);
    const metrics = {
      observeAttempt(result: string) {
        sum[result === 'delivered' ? 'delivered' : 'failed'] += 1;
      },
    };
    const traces = await openOwnTraces(settings, log, closers);
    const drainer = startDelivery(db, { settings, log, state, metrics, traces });
    closers.push(() => drainer.stop());
    await drainer.untilIdle(signal);
  });
  return sum;
}

/**
 * Does `work` with the Citus cluster of `DATABASE_URL` as it is, and a function that distributes what is not distributed
 * yet. Throws `database_unusable` when there is no cluster.
 */
export async function withCluster(
  settings: Settings,
  log: Log,
  work: (cluster: Cluster, spread: () => Promise<Cluster>) => Promise<void>,
): Promise<void> {
  if (settings.databaseUrl === undefined) {
    throw new AppError('database_unusable', {
      detail:
        'The built-in PostgreSQL is one server. Set DATABASE_URL to the coordinator of a Citus cluster.',
    });
  }
  await withOwnDatabase(settings, log, async (db) =>
    work(await needCluster(db), async () => {
      await migrate(db);
      return distribute(db);
    }),
  );
}

/**
 * Migrates the schema, finds or makes the keys and makes the first admin token, if this process has the role `api`: the
 * file would otherwise lie with a drainer, where nobody looks for it. Returns the path of that file if it was made just
 * now, otherwise null.
 */
async function prepare(
  db: Database,
  {
    settings,
    log,
    state,
    keys,
    signal,
  }: { settings: Settings; log: Log; state: State; keys: Keys; signal: AbortSignal },
): Promise<string | null> {
  await migrate(db, signal);
  const cluster = await distributeSmall(db);
  if (cluster !== null && missingOf(cluster).length > 0) {
    log.warn(
      { citus: cluster.version, workers: cluster.workers },
      'the database is a Citus cluster whose workers have no tables of svcctl: svcctl database distribute',
    );
  }
  const newer = await listNewerMigrations(db);
  if (newer.length > 0)
    log.warn({ newer }, 'the database belongs to a newer release, beside which this one can work');
  const path = settings.roles.includes('api')
    ? await makeFirstAdminToken(db, settings.dataDir, systemClock())
    : null;
  await keys.refresh();
  state.cursorKey = await findOrMakeSigningKey(db, 'cursor', randomBytes(32));
  return path;
}

/** Serves the metrics on a port of their own, if the settings say so. Returns where. */
async function listenForMetrics(
  { metricsHost: host, metricsPort: port }: Settings,
  metrics: Metrics,
  closers: Closers,
): Promise<string | null> {
  if (port === undefined) return null;
  const { url, close } = await serveMetrics(metrics, { host, port }).catch(
    refusePort('SVC_METRICS_PORT'),
  );
  closers.push(close);
  return url;
}

const refusePort =
  (setting: string) =>
  (error: unknown): never => {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new AppError('settings_invalid', {
        detail: `${error.message}. Another program listens there: stop it, or set ${setting}.`,
      });
    }
    throw error;
  };

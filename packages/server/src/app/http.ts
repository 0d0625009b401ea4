import { setTimeout } from 'node:timers/promises';
import {
  addAccessRoutes,
  createAudit,
  createAuthenticate,
  createRateLimit,
  createSignInGuard,
} from '../access/index.ts';
import type { Presence } from '../checks/index.ts';
import { readRelease } from '../config/release.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError, errorCatalogue } from '../kernel/errors.ts';
import { isLoopback, isWithin } from '../platform/http/client-address.ts';
import { addConsole } from '../platform/http/console-files.ts';
import { addMetricsRoute } from '../platform/http/metrics-route.ts';
import { addOriginRoutes } from '../platform/http/origin-routes.ts';
import { createHttpServer, type HttpServer } from '../platform/http/server.ts';
import { traceRequests } from '../platform/http/trace-requests.ts';
import { listNewerMigrations } from '../platform/postgres/migrate.ts';
import { isReadOnly } from '../platform/postgres/replication.ts';
import type { Work } from '../platform/work/repeat.ts';
import { rejectCodes } from '../records/contract.ts';
import { addRecordsRoutes, addTagRoutes, createIngest } from '../records/index.ts';
import { addExports, type ExportJobs } from './exports.ts';
import { cursorKey, type Host } from './host.ts';
import { addAllFigures } from './metrics.ts';
import { createMetricsAccess } from './metrics-access.ts';
import { addNotices, type Notices } from './notices.ts';
import { addOverview } from './overview.ts';
import { addStatus } from './presence.ts';
import { addRetention, type Retention } from './retention.ts';
import { addVersions, type Counting } from './versions.ts';
import { addWebhooks } from './webhooks.ts';

/** Returns what the service serves: the routes of its roles, health, the reference and the console. */
export function createHttp(
  host: Host,
  works: {
    presence: Presence;
    retention: Retention;
    counting: Counting;
    jobs: ExportJobs;
    bulkJobs: Work;
    notices: Notices;
  },
): HttpServer {
  const { settings, log, db, metrics, traces, cold, closers } = host;
  const isTrusted = isWithin(settings.trustedProxies);
  const rates = { perToken: settings.rateLimit, perTenants: settings.tenantRateLimit };
  const rateLimit = createRateLimit(db, rates, { clock: systemClock, log });
  closers.push(() => rateLimit.flush());
  const authenticate = createAuthenticate(db, settings.publicUrl);
  const http = createHttpServer({
    log,
    authenticate,
    admit: (actor, answer) => rateLimit.admit(actor, answer),
    takeTurns: (caller, work) => db.as(caller, work),
    load: { total: settings.requests, each: settings.requestsPerCaller },
    // JSON may spell each byte of a payload as an escape of six bytes, so the body may be six times as large.
    jsonBodyMaxBytes: Math.max(2 ** 20, 6 * settings.webhookMaxBytes),
    connections: {
      total: settings.connections,
      perAddress: settings.connectionsPerAddress,
      isShared: (address) => isLoopback(address) || isTrusted(address),
      bodySeconds: settings.bodySeconds,
    },
    isTrusted,
    isSecure: settings.publicUrl?.startsWith('https:') ?? false,
    assertReady: () => assertReady(host),
    onProblem: (code) => metrics.observeProblem(code),
  });
  if (settings.roles.includes('api')) {
    addApi(http, host);
    addVersions(http, host, works.counting);
    addExports(http, host, works.jobs);
    addRetention(http, host, works.retention);
    addWebhooks(http, host, works.bulkJobs);
    addNotices(http, host, works.notices);
    addOverview(http, host);
    addStatus(http, host, works.presence);
  }
  const findWarnings = async () => {
    assertReady(host);
    if (http.isLeaving()) {
      throw new AppError('not_ready', { detail: 'This process is stopping. Ask another one.' });
    }
    const look = async () => ({
      newer: await listNewerMigrations(db),
      isReadOnly: await isReadOnly(db),
    });
    const { newer, isReadOnly: onlyReads } = await Promise.race([look(), tooLate(2000)]);
    // It may have been migrated while this process ran.
    if (newer.some(({ isSurvived }) => !isSurvived)) throw new AppError('database_newer');
    // A store that does not answer is only a warning, not a reason for 503: hot records, ingest and webhooks go on
    // without it, so a load balancer must not take this process out for it.
    const { problem } = cold.watch.state();
    return [
      ...(newer.length > 0 ? (['database_newer'] as const) : []),
      // What is read is answered, so a load balancer must not take this process out for it either.
      ...(onlyReads ? (['read_only'] as const) : []),
      ...(problem === null ? [] : [problem.code]),
    ];
  };
  addOriginRoutes(http, {
    // The API is that of the version, whatever commit was built.
    version: readRelease().replace(/\+.*$/, ''),
    findWarnings,
    errors: errorCatalogue,
    rejectCodes,
  });
  addAllFigures(host, findWarnings);
  addMetricsRoute(http, {
    ...{ metrics, publicUrl: settings.publicUrl },
    admit: createMetricsAccess(authenticate, settings.waits.scrapeTokenMillis),
  });
  addConsole(http);
  observe(http, host);
  if (traces !== null) traceRequests(http, traces);
  return http;
}

function addApi(http: HttpServer, host: Host): void {
  const { settings, log, db, metrics, cold, closers } = host;
  const guard = createSignInGuard(db, { clock: systemClock, log });
  closers.push(() => guard.flush());
  addAccessRoutes(http, db, {
    clock: systemClock,
    cursorKey: () => cursorKey(host),
    audit: createAudit(),
    guard,
    publicUrl: settings.publicUrl,
  });
  addRecordsRoutes(http, db, {
    cursorKey: () => cursorKey(host),
    cold,
    onIngested: ({ accepted, duplicates, rejected_count: rejected }) =>
      metrics.observeIngest({ accepted, duplicates, rejected }),
    ingest: createIngest(db, {
      cold,
      maxRecords: settings.ingestMaxRecords,
      maxBatchBytes: settings.ingestMaxBytes,
      maxEnrichmentBytes: settings.enrichmentMaxBytes,
      inFlightBytes: settings.ingestInFlightBytes,
      inFlightBytesPerCaller: settings.ingestInFlightBytesPerCaller,
      // Ingest may use a third of the connections, so that pages and exports always find one.
      writers: Math.max(1, Math.floor(settings.databaseConnections / 3)),
      clock: systemClock,
    }),
  });
  addTagRoutes(http, db, { cursorKey: () => cursorKey(host), audit: createAudit() });
}

function assertReady(host: Host): void {
  cursorKey(host);
}

function observe(http: HttpServer, { metrics, waiting }: Host): void {
  http.fastify.addHook('onRequest', (_request, { raw }, done) => {
    raw.once('close', waiting.enter());
    done();
  });
  http.fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    metrics.observeRequest(
      { method: request.method, route, status: reply.statusCode },
      reply.elapsedTime / 1000,
    );
    done();
  });
}

/** Limits the readiness probe: without it a database that hangs would hang the probe as well. */
async function tooLate(millis: number): Promise<never> {
  await setTimeout(millis, undefined, { ref: false });
  throw new AppError('database_unavailable', { retryAfterSeconds: 1 });
}

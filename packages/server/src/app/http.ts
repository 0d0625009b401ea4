import { setTimeout } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import {
  addAccessRoutes,
  createApprove,
  createAuthenticate,
  createRateLimit,
  createSignInGuard,
  type SessionOptions,
  tellAddressRefusals,
} from '../access/index.ts';
import type { Presence } from '../checks/index.ts';
import { readRelease } from '../config/release.ts';
import { type Actor, requireAllTenants, requireScope } from '../kernel/actor.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError, errorCatalogue } from '../kernel/errors.ts';
import { hashSecret } from '../kernel/ids.ts';
import { keepFor } from '../kernel/once.ts';
import { basePath } from '../kernel/values.ts';
import { isLoopback, isWithin } from '../platform/http/client-address.ts';
import { addConsole } from '../platform/http/console-files.ts';
import { addMetricsRoute, serveMetrics } from '../platform/http/metrics-route.ts';
import { addOriginRoutes } from '../platform/http/origin-routes.ts';
import { createHttpServer, type HttpServer } from '../platform/http/server.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { listNewerMigrations } from '../platform/postgres/migrate.ts';
import { isReadOnly } from '../platform/postgres/replication.ts';
import type { Traces } from '../platform/traces.ts';
import type { Work } from '../platform/work/repeat.ts';
import { rejectCodes } from '../records/contract.ts';
import { addRecordsRoutes, addTagRoutes, createIngest } from '../records/index.ts';
import { retentionContract } from '../retention/contract.ts';
import { describeWebhooks, listAllTypes } from '../webhooks/index.ts';
import { signInOptions } from './access.ts';
import { findServiceAt } from './announce.ts';
import { addExports, type ExportJobs } from './exports.ts';
import { type Host, notReady, readNotes, routeTools, sealerIn } from './host.ts';
import { addJobs } from './jobs.ts';
import { addAllFigures } from './metrics.ts';
import { addNotices, type Notices } from './notices.ts';
import { addOverview } from './overview.ts';
import { addStatus } from './presence.ts';
import { addRetention, type Retention } from './retention.ts';

import { addVersions } from './versions.ts';
import { addWebhooks } from './webhooks.ts';

/** Returns what the service serves: the routes of its roles, health, the reference and the console. */
export function createHttp(
  host: Host,
  works: {
    presence: Presence;
    retention: Retention;
    counting: Work;
    jobs: ExportJobs;
    bulkJobs: Work;
    replays: Work;
    notices: Notices;
  },
): HttpServer {
  const { settings, log, db, metrics, traces, closers } = host;
  const isTrusted = isWithin(settings.trustedProxies);
  const rates = { perToken: settings.rateLimit, perTenants: settings.tenantRateLimit };
  const rateLimit = createRateLimit(db, rates, { clock: systemClock, log });
  closers.push(() => rateLimit.flush());
  const signIn = signInOptions(settings);
  const { tokenMillis: knownMillis } = settings.waits;
  const authenticate = tellAddressRefusals(createAuthenticate(db, { ...signIn, knownMillis }), {
    db,
    ...routeTools(host),
  });
  const assertReady = () => {
    if (host.state.cursorKey === null) throw notReady();
  };
  const http = createHttpServer({
    log,
    authenticate,
    admit: rateLimit.admit,
    takeTurns: db.as,
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
    approve: createApprove(db, { acts: settings.fourEyes, ...routeTools(host) }),
    assertReady,
    onProblem: (code) => metrics.observeProblem(code),
  });
  if (settings.roles.includes('api')) {
    addApi(http, host, signIn, works.counting);
    addVersions(http, host, works.counting);
    addExports(http, host, works.jobs);
    addRetention(http, host, works.retention);
    addWebhooks(http, host, works);
    addNotices(http, host, works.notices);
    addOverview(http, host);
    addJobs(http, host);
    addStatus(http, host, works.presence);
  }
  const findWarnings = createFindWarnings(host, { http, assertReady });
  addOriginRoutes(http, {
    // The API is that of the version, whatever commit was built.
    version: readRelease().replace(/\+.*$/, ''),
    findWarnings,
    errors: errorCatalogue,
    rejectCodes,
    findWebhooks: createWebhooksReader(db, authenticate),
  });
  addAllFigures(host, findWarnings);
  addMetricsRoute(http, {
    metrics,
    publicUrl: settings.publicUrl,
    admit: createMetricsAccess(authenticate, settings.waits.scrapeTokenMillis),
  });
  addConsole(http, settings.portalOrigins);
  observe(http, host);
  if (traces !== null) traceRequests(http, traces);
  return http;
}

/** How long a look at the database waits for an answer. The server waits for a lock no longer than twice that. */
const silentMillis = 5000;

/** Returns what throws unless requests can be served now, and else tells what is wrong although they can. */
function createFindWarnings(
  { db, cold, settings }: Host,
  { http, assertReady }: { http: HttpServer; assertReady: () => void },
) {
  // A look at a connection that has fallen silent ends, and closes it, so that the next one takes another.
  const asked: Queryable = {
    query: (statement, options) => db.query(statement, { ...options, answerMillis: silentMillis }),
  };
  const look = async () => ({
    newer: await listNewerMigrations(asked),
    isReadOnly: await isReadOnly(asked),
  });
  // Whoever asks needs no token: a flood of them is to take no more than a few connections.
  const lookAtDatabase = keepFor(look, {
    keepMillis: settings.waits.readyMillis,
    limitMillis: 2000,
    late: refuseLate,
  });
  return async () => {
    assertReady();
    if (http.isLeaving()) {
      throw new AppError('not_ready', { detail: 'This process is stopping. Ask another one.' });
    }
    const { newer, isReadOnly: onlyReads } = await lookAtDatabase();
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
}

/** Says what the service sends to whoever may read the catalogue; to others, and while it cannot be read, nothing. */
function createWebhooksReader(
  db: Queryable,
  authenticate: (request: FastifyRequest) => Promise<Actor>,
) {
  return async (request: FastifyRequest) => {
    if (request.headers.authorization === undefined && request.headers.cookie === undefined) {
      return null;
    }
    try {
      requireScope(await authenticate(request), 'incidents:read');
    } catch (error) {
      if (error instanceof AppError && error.status < 500) return null;
      throw error;
    }
    return describeWebhooks(await listAllTypes(db));
  };
}

function addApi(http: HttpServer, host: Host, signIn: SessionOptions, counting: Work): void {
  const { settings, db, metrics, cold, closers } = host;
  const tools = routeTools(host);
  const guard = createSignInGuard(db, tools);
  closers.push(() => guard.flush());
  addAccessRoutes(http, db, {
    ...tools,
    ...signIn,
    guard,
    personTokenDays: settings.personTokenDays,
    tokenDays: settings.tokenDays,
    fourEyes: settings.fourEyes,
    sealer: () => sealerIn(host),
    isFramed: settings.portalOrigins.length > 0,
  });
  addRecordsRoutes(http, db, {
    ...tools,
    noteRead: readNotes(host),
    pokeCounts: () => counting.poke(),
    cold,
    tailWaits: {
      stallMillis: settings.waits.tailStallMillis,
      quietMillis: settings.waits.tailQuietMillis,
    },
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
  addTagRoutes(http, db, tools);
}

function observe(http: HttpServer, { metrics, waiting }: Host): void {
  http.fastify.addHook('onRequest', ({ routeOptions }, { raw }, done) => {
    // Days that are imported wait for their own move, which would rest because of them.
    if (routeOptions.url !== basePath + retentionContract.importDays.path) {
      raw.once('close', waiting.enter());
    }
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

/** Refuses probes and scrapes in time: without that a database that hangs would hang them as well. */
function refuseLate(): never {
  throw new AppError('database_unavailable', { retryAfterSeconds: 1 });
}

const knownMillis = 3_600_000;

/**
 * Decides who may read the metrics: whoever has a token that may read records of all tenants. Where a caller seems to
 * come from tells nothing: a proxy on this machine passes on callers from anywhere. While the database cannot be asked,
 * a token counts that it knew within the last hour, since the metrics are to tell just then that it is away. It waits
 * `lookUpMillis` for the database to say.
 */
function createMetricsAccess(
  authenticate: (request: FastifyRequest) => Promise<Actor>,
  lookUpMillis: number,
): (request: FastifyRequest) => Promise<void> {
  const known = new LRUCache<string, true>({ max: 100, ttl: knownMillis });
  return async (request) => {
    const { authorization } = request.headers;
    const key = hashSecret(authorization ?? '').toString('base64url');
    try {
      const late = setTimeout(lookUpMillis, null, { ref: false }).then(refuseLate);
      const actor = await Promise.race([authenticate(request), late]);
      requireScope(actor, 'enrichment:read');
      requireAllTenants(
        actor,
        'The metrics are of all tenants, and this token is limited to some.',
      );
      known.set(key, true);
    } catch (error) {
      const isAway = error instanceof AppError && error.status === 503;
      // Sessions, and whoever brings nothing, all look the same here.
      if (isAway && authorization && known.has(key)) return;
      if (!isAway) known.delete(key);
      throw error;
    }
  };
}

/** Takes requests from now on. Throws `settings_invalid` when somebody else listens there. */
export async function listen(
  { fastify }: HttpServer,
  { settings }: Pick<Host, 'settings'>,
): Promise<void> {
  // `localhost` has several addresses. Fastify would open one server for each, and only the first would have our
  // guards.
  const host = settings.host === 'localhost' ? '127.0.0.1' : settings.host;
  await fastify
    .listen({ host, port: settings.port })
    .catch(
      refusePort('SVC_PORT', () => findServiceAt(settings.dataDir, settings.host, settings.port)),
    );
}

/** Serves the metrics on a port of their own, if the settings say so. Returns where. */
export async function listenForMetrics({
  settings: { metricsHost: host, metricsPort: port },
  metrics,
  closers,
}: Pick<Host, 'settings' | 'metrics' | 'closers'>): Promise<string | null> {
  if (port === undefined) return null;
  const { url, close } = await serveMetrics(metrics, { host, port }).catch(
    refusePort('SVC_METRICS_PORT'),
  );
  closers.push(close);
  return url;
}

/** Still serves for a while, and has each answer close its connection; see `leave` of `Service`. */
export async function leave(
  http: HttpServer,
  { settings, log }: Pick<Host, 'settings' | 'log'>,
  hurry: AbortSignal,
): Promise<void> {
  const seconds = settings.roles.includes('api') ? settings.shutdownLeadSeconds : 0;
  http.leave();
  if (seconds === 0) return;
  log.info({ seconds }, 'leaving: serves until load balancers have noticed');
  // It rejects when the signal aborts, which only means that the time is over.
  await setTimeout(seconds * 1000, undefined, { signal: hurry }).catch(() => {});
  log.info('stopping');
}

const refusePort =
  (setting: string, findOwn: () => Promise<{ pid: number | null } | null> = async () => null) =>
  async (error: unknown): Promise<never> => {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      const own = await findOwn();
      const who = own === null ? 'Another program listens there' : 'svcctl serves there already';
      const stop = own?.pid ? `, as process ${own.pid}: stop it (kill ${own.pid})` : ': stop it';
      throw new AppError('settings_invalid', {
        detail: `${error.message}. ${who}${stop}, or set ${setting}.`,
      });
    }
    throw error;
  };

/**
 * Makes a span of each request to the API, in the trace that its `traceparent` names. Names and attributes are those of
 * OpenTelemetry's conventions for HTTP servers. The query is left out, since it names what an operator looks for.
 */
function traceRequests({ fastify }: HttpServer, traces: Traces): void {
  fastify.addHook('onRequest', (request, { raw: answer }, done) => {
    const route = request.routeOptions.url;
    if (route?.startsWith(`${basePath}/`)) {
      const parent = request.headers.traceparent;
      const span = traces.begin(`${request.method} ${route}`, {
        kind: 'server',
        parent: typeof parent === 'string' ? parent : null,
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': request.url.split('?')[0],
          'url.scheme': request.protocol,
          'svcctl.request_id': request.id,
        },
      });
      request.traceParent = span.traceParent;
      // An answer that was broken off has no end of its own, but it is always closed.
      answer.once('close', () => {
        const { statusCode: status, writableFinished: isWhole } = answer;
        const error = status >= 500 ? String(status) : isWhole ? null : 'broken_off';
        span.end({ 'http.response.status_code': status }, error);
      });
    }
    done();
  });
}

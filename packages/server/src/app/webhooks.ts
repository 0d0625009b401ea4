import { auditLocally } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import type { ReportRun } from '../exports/index.ts';
import { serviceActor } from '../kernel/actor.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { cutShares, stopTogether, withClosers } from '../platform/work/stop.ts';
import { isOnHold, refuseHold } from '../retention/index.ts';
import {
  addWebhookRoutes,
  createReportIncident,
  createSender,
  createTarget,
  Drainer,
  startBulkJobs,
  startForgetting,
  startHoldingBack,
  startReplays,
  startSettling,
  watchAttempts,
} from '../webhooks/index.ts';
import { makeDataDir, naming, openOwnDatabase } from './database.ts';
import { type Host, openOwnTraces, routeTools, type State, secretBox } from './host.ts';
import { createKeys } from './keys.ts';
import { createOwnPresence } from './presence.ts';

/** Makes the work on bulk jobs of dead letters, and the looks at what became of them. It runs only in a process that has the role `api`. */
export function createBulkJobs({ settings, log, db, wakeUp, paceOf }: Host): Work {
  return startLater(settings.roles.includes('api'), () => {
    const pace = paceOf('retries');
    const jobs = startBulkJobs(db, { wakeUp, audit: auditLocally, isOnHold, log, pace });
    const settling = startSettling(db, settings.deliveryDays, log);
    return { poke: () => jobs.poke(), stop: () => stopTogether([jobs, settling], log) };
  });
}

/** Makes the work on replays. It runs only in a process that has the role `api`. */
export function createReplays({ settings, log, db, wakeUp, paceOf }: Host): Work {
  const { deliveryDays, waits } = settings;
  return startLater(settings.roles.includes('api'), () =>
    startReplays(db, {
      wakeUp,
      deliveryDays,
      log,
      pace: paceOf('retries'),
      settleMillis: waits.replaySettleMillis,
    }),
  );
}

/** Makes the work that keeps endpoints from filling the disk. It runs only in a process that has the role `api`. */
export function createHoldingBack({ settings, log, db }: Host): Work {
  const { tenantWaiting: rows, tenantWaitingBytes: bytes, deliveryDays, waits } = settings;
  return startLater(settings.roles.includes('api'), () =>
    startHoldingBack(db, {
      bounds: { rows, bytes },
      deliveryDays,
      log,
      settleMillis: waits.replaySettleMillis,
      everyMillis: waits.holdBackMillis,
    }),
  );
}

/** Adds the routes of webhooks: endpoints, incidents, deliveries and dead letters. */
export function addWebhooks(
  http: HttpServer,
  host: Host,
  { bulkJobs: jobs, replays }: { bulkJobs: Work; replays: Work },
): void {
  const { settings, db, wakeUp } = host;
  addWebhookRoutes(http, db, {
    ...routeTools(host),
    secretBox: () => secretBox(host),
    target: createTarget({ allowTargets: settings.allowTargets }),
    // Pings are rare: no connection is kept for the next one.
    ping: {
      sender: senderOf(settings, { maxIdle: 0 }),
      timeoutSeconds: settings.webhookTimeoutSeconds,
    },
    wakeUp,
    jobs,
    replays,
    tenantEndpoints: settings.tenantEndpoints,
    maxAttempts: settings.webhookMaxAttempts,
    maxPayloadBytes: settings.webhookMaxBytes,
    isOnHold,
    refuseHold,
    deliveryDays: settings.deliveryDays,
    eventTypes: settings.eventTypes,
  });
}

/** What reports an incident of the service itself. Its key is none that a caller can give: it has a space. */
export function createRunReporter(host: Host): ReportRun {
  const { settings, db, log, wakeUp } = host;
  const [maxAttempts, maxPayloadBytes] = [settings.webhookMaxAttempts, settings.webhookMaxBytes];
  const options = { clock: systemClock, maxAttempts, maxPayloadBytes, wakeUp, log };
  const { one: report } = createReportIncident(db, options);
  return async ({ tenant, exportId, type, occurredAt, data }) => {
    const key = `svcctl ${exportId}`;
    const request = { tenant, type, occurred_at: occurredAt, data, idempotency_key: key };
    try {
      const origin = { dataSource: undefined, requestId: exportId, traceParent: null };
      await report(serviceActor, { request, ...origin });
    } catch (error) {
      // It was reported before, by a release that told other things of a run.
      if (!(error instanceof AppError) || error.code !== 'idempotency_conflict') throw error;
    }
  };
}

function senderOf(settings: Settings, more: { maxIdle?: number } = {}) {
  return createSender({
    timeoutMillis: settings.webhookTimeoutSeconds * 1000,
    allowTargets: settings.allowTargets,
    proxy: settings.webhookProxy,
    ...more,
  });
}

type DeliveryHost = Pick<Host, 'settings' | 'log' | 'db' | 'traces'> & {
  readonly state: Pick<State, 'secretBox'>;
  readonly metrics: Pick<Metrics, 'observeAttempt'>;
};

/** Starts the work of the role `drainer`: what is due is delivered, and what was delivered long ago is forgotten. */
export function startDrainer(host: DeliveryHost) {
  const { settings, log, db } = host;
  warnOfLongAttempts(settings, log);
  const drainer = startDelivery(host);
  const forgetting = startForgetting(db, {
    days: settings.deliveryDays,
    incidentDays: settings.incidentDays,
    historyDays: settings.historyDays,
    isOnHold,
    log,
  });
  return { drainer, forgetting };
}

/** An attempt that is cut has no recorded outcome and is repeated, which an operator should know beforehand. */
function warnOfLongAttempts({ webhookTimeoutSeconds, shutdownSeconds }: Settings, log: Log): void {
  if (webhookTimeoutSeconds <= shutdownSeconds * cutShares.attempts) return;
  log.warn(
    { webhookTimeoutSeconds, shutdownSeconds },
    'SVC_WEBHOOK_TIMEOUT_SECONDS is longer than a stop waits for an attempt, three quarters of SVC_SHUTDOWN_SECONDS: an attempt that a stop ends is made again',
  );
}

/** Starts the drainer of this process, which sends webhooks. An attempt without a failure class was delivered. */
function startDelivery(host: DeliveryHost): Drainer {
  const { settings, log, db, metrics, traces } = host;
  return new Drainer(db, {
    sender: senderOf(settings),
    secretBox: () => secretBox(host),
    timeoutSeconds: settings.webhookTimeoutSeconds,
    maxInFlight: settings.drainerInFlight,
    balanceMillis: settings.waits.lanesMillis,
    log,
    watch: watchAttempts({
      log,
      traces,
      observe: ({ failureClass, durationMillis }) =>
        metrics.observeAttempt(failureClass ?? 'delivered', durationMillis / 1000),
    }),
  });
}

/**
 * Drains as `serve` would, until only paused deliveries are due or the signal aborts. Returns successes and failures.
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
    const state: Pick<State, 'secretBox' | 'sealer'> = { secretBox: null, sealer: null };
    const keys = createKeys({ settings, db, state });
    await keys.refresh();
    // It also keeps the keys as they are.
    const presence = createOwnPresence({ settings, log, db }, { command: 'drain', keys });
    closers.push(() => presence.stop());
    await presence.start(null);
    const metrics = {
      observeAttempt(result: string) {
        sum[result === 'delivered' ? 'delivered' : 'failed'] += 1;
      },
    };
    const traces = await openOwnTraces({ settings, log, closers });
    const drainer = startDelivery({ settings, log, db, state, metrics, traces });
    closers.push(() => drainer.stop());
    await drainer.untilIdle(signal);
  });
  return sum;
}

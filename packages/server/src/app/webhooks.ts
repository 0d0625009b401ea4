import { auditLocally, createAudit } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { cutShares } from '../platform/work/stop.ts';
import { isOnHold, refuseHold } from '../retention/index.ts';
import {
  addWebhookRoutes,
  createSender,
  createTarget,
  Drainer,
  startBulkJobs,
  startForgetting,
  watchAttempts,
} from '../webhooks/index.ts';
import { cursorKey, type Host, type State, secretBox } from './host.ts';

/** Makes the work on bulk retries of dead letters. It runs only in a process that has the role `api`. */
export function createBulkJobs({ settings, log, db, wakeUp, paceOf }: Host): Work {
  return startLater(() =>
    settings.roles.includes('api')
      ? startBulkJobs(db, { wakeUp, audit: auditLocally, log, pace: paceOf('retries') })
      : undefined,
  );
}

/** Adds the routes of webhooks: endpoints, incidents, deliveries and dead letters. */
export function addWebhooks(http: HttpServer, host: Host, jobs: Work): void {
  const { settings, log, db, wakeUp } = host;
  addWebhookRoutes(http, db, {
    cursorKey: () => cursorKey(host),
    clock: systemClock,
    secretBox: () => secretBox(host),
    target: createTarget({ allowTargets: settings.allowTargets }),
    // Pings are rare: no connection is kept for the next one.
    ping: {
      sender: senderOf(settings, { maxIdle: 0 }),
      timeoutSeconds: settings.webhookTimeoutSeconds,
    },
    wakeUp,
    jobs,
    audit: createAudit(),
    maxAttempts: settings.webhookMaxAttempts,
    maxPayloadBytes: settings.webhookMaxBytes,
    refuseHold,
    deliveryDays: settings.deliveryDays,
    log,
  });
}

function senderOf(settings: Settings, more: { maxIdle?: number } = {}) {
  return createSender({
    timeoutMillis: settings.webhookTimeoutSeconds * 1000,
    allowTargets: settings.allowTargets,
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
export function startDelivery(host: DeliveryHost): Drainer {
  const { settings, log, db, metrics, traces } = host;
  return new Drainer(db, {
    sender: senderOf(settings),
    secretBox: () => secretBox(host),
    timeoutSeconds: settings.webhookTimeoutSeconds,
    maxInFlight: settings.drainerInFlight,
    balanceMillis: settings.waits.lanesMillis,
    wallSeconds: () => Math.floor(systemClock() / 1000),
    log,
    watch: watchAttempts({
      log,
      traces,
      observe: ({ failureClass, durationMillis }) =>
        metrics.observeAttempt(failureClass ?? 'delivered', durationMillis / 1000),
    }),
  });
}

import { auditLocally, createAudit } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { Traces } from '../platform/traces.ts';
import type { Pace } from '../platform/work/pace.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { cutShares } from '../platform/work/stop.ts';
import { isOnHold, refuseHold } from '../retention/index.ts';
import {
  addWebhookRoutes,
  createSender,
  createTarget,
  Drainer,
  type ReportWakeUp,
  startBulkJobs,
  startForgetting,
  type WakeUp,
  watchAttempts,
} from '../webhooks/index.ts';
import { cursorKey, type State, secretBox } from './state.ts';

/** Makes the work on bulk retries of dead letters. It runs only in a process that has the role `api`. */
export function createBulkJobs(
  db: Database,
  { settings, log, wakeUp, pace }: { settings: Settings; log: Log; wakeUp: WakeUp; pace: Pace },
): Work {
  const parts = { wakeUp, audit: auditLocally, log, pace };
  return startLater(() => (settings.roles.includes('api') ? startBulkJobs(db, parts) : undefined));
}

/** Adds the routes of webhooks: endpoints, incidents, deliveries and dead letters. */
export function addWebhooks(
  http: HttpServer,
  db: Database,
  parts: {
    settings: Settings;
    log: Log;
    state: State;
    wakeUp: ReportWakeUp;
    bulkJobs: Work;
  },
): void {
  const { settings, log, state, wakeUp, bulkJobs: jobs } = parts;
  addWebhookRoutes(http, db, {
    cursorKey: () => cursorKey(state),
    clock: systemClock,
    secretBox: () => secretBox(state),
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

type DeliveryParts = {
  settings: Settings;
  log: Log;
  state: Pick<State, 'secretBox'>;
  metrics: Pick<Metrics, 'observeAttempt'>;
  traces: Traces | null;
};

/** Starts the work of the role `drainer`: what is due is delivered, and what was delivered long ago is forgotten. */
export function startDrainer(db: Database, parts: DeliveryParts) {
  const { settings, log } = parts;
  warnOfLongAttempts(settings, log);
  const drainer = startDelivery(db, parts);
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
export function startDelivery(db: Database, parts: DeliveryParts): Drainer {
  const { settings, log, state, metrics, traces } = parts;
  return new Drainer(db, {
    sender: senderOf(settings),
    secretBox: () => secretBox(state),
    timeoutSeconds: settings.webhookTimeoutSeconds,
    maxInFlight: settings.drainerInFlight,
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

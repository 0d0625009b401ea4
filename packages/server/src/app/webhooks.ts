import { createAudit } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Database } from '../platform/postgres/database.ts';
import {
  addWebhookRoutes,
  createSender,
  createTarget,
  Drainer,
  startJobRunner,
  type WakeUp,
} from '../webhooks/index.ts';
import { cursorKey, type State, secretBox } from './state.ts';

/** The routes of webhooks, and the jobs behind them. */
export function addWebhooks(
  http: HttpServer,
  db: Database,
  parts: {
    settings: Settings;
    log: Log;
    state: State;
    wakeUp: WakeUp;
    closers: (() => Promise<unknown>)[];
  },
): void {
  const { settings, log, state, wakeUp, closers } = parts;
  const jobs = startJobRunner(db, { wakeUp, log });
  closers.push(() => jobs.stop());
  addWebhookRoutes(http, db, {
    cursorKey: () => cursorKey(state),
    clock: systemClock,
    secretBox: () => secretBox(state),
    target: createTarget({ allowTargets: settings.allowTargets }),
    wakeUp,
    jobs,
    audit: createAudit(),
    maxAttempts: settings.webhookMaxAttempts,
    maxPayloadBytes: settings.webhookMaxBytes,
    log,
  });
}

/** The drainer of this process. */
export function startDelivery(
  db: Database,
  parts: {
    settings: Settings;
    log: Log;
    state: Pick<State, 'secretBox'>;
    metrics: Pick<Metrics, 'observeAttempt'>;
  },
): Drainer {
  const { settings, log, state, metrics } = parts;
  return new Drainer(db, {
    sender: createSender({
      timeoutMillis: settings.webhookTimeoutSeconds * 1000,
      allowTargets: settings.allowTargets,
    }),
    secretBox: () => secretBox(state),
    timeoutSeconds: settings.webhookTimeoutSeconds,
    maxInFlight: settings.drainerInFlight,
    wallSeconds: () => Math.floor(systemClock() / 1000),
    log,
    onAttempt: ({ failureClass, durationMillis }) =>
      metrics.observeAttempt(failureClass ?? 'delivered', durationMillis / 1000),
  });
}

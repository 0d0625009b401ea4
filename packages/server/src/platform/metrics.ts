import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { storeStates } from '../kernel/values.ts';
import { type Paced, paced } from './work/pace.ts';

/** What the service measures about itself, for Prometheus. */
export type Metrics = {
  readonly registry: Registry;
  /**
   * Counts one answered request. `route` is the pattern of the route and never the path, which would make a new series
   * for every id.
   */
  observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Counts one attempt to deliver a webhook. `result` is `delivered` or the class of the failure. */
  observeAttempt(result: string, seconds: number): void;
  /** Counts the time for which background work has given way to clients. */
  observeRest(work: Paced, seconds: number): void;
};

/** Makes the registry of all metrics. The sources are asked each time somebody reads the metrics. */
export function createMetrics(sources: {
  poolState: () => { total: number; idle: number; waiting: number };
  /** How many tenants' latest move failed, and how many tenants' latest move was stopped by a full store. */
  countFailedMoves: () => Promise<{ failed: number; storeFull: number }>;
  /** How the store of cold data stands to this database: one of `storeStates`. */
  storeState: () => string;
}): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'svcctl_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    registers: [registry],
  });
  new Gauge({
    name: 'svcctl_database_connections',
    help: 'Connections of the pool; waiting = callers that wait for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, value] of Object.entries(sources.poolState())) this.set({ state }, value);
    },
  });
  const gauges = {
    failed: [
      'svcctl_retention_failed_moves',
      'Tenants whose latest move to the cold tier failed; absent while the database is away.',
    ],
    storeFull: [
      'svcctl_retention_store_full',
      'Tenants whose latest move was stopped because the store is full; absent while the database is away.',
    ],
  } as const;
  for (const which of ['failed', 'storeFull'] as const) {
    const [name, help] = gauges[which];
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.reset();
        try {
          this.set((await sources.countFailedMoves())[which]);
        } catch {
          // An old number would hide that the database is away, so the series is left out.
          this.remove();
        }
      },
    });
  }
  new Gauge({
    name: 'svcctl_cold_store',
    help: '1 under the state of the store of cold data: own, else it is not written to; elsewhere = another database writes it.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const now = sources.storeState();
      for (const state of storeStates) this.set({ state }, state === now ? 1 : 0);
    },
  });
  const attempts = new Counter({
    name: 'svcctl_delivery_attempts_total',
    help: 'Attempts to deliver a webhook, by what came of them.',
    labelNames: ['result'],
    registers: [registry],
  });
  const attemptSeconds = new Histogram({
    name: 'svcctl_delivery_attempt_duration_seconds',
    help: 'Time of one attempt, from the look-up of the name to the end of the answer.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15],
    registers: [registry],
  });
  const rests = new Counter({
    name: 'svcctl_background_rest_seconds_total',
    help: 'Time for which background work has given way to clients, by kind of work.',
    labelNames: ['work'],
    registers: [registry],
  });
  for (const work of paced) rests.inc({ work }, 0);
  return {
    registry,
    observeRest: (work, seconds) => rests.inc({ work }, seconds),
    observeAttempt(result, seconds) {
      attempts.inc({ result });
      attemptSeconds.observe(seconds);
    },
    observeRequest: ({ method, route, status }, seconds) =>
      requests.observe({ method, route, status: String(status) }, seconds),
  };
}

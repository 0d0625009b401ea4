import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = {
  readonly registry: Registry;
  /** One answered request. `route` is the pattern, never the path: few values. */
  observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
};

export function createMetrics(
  poolState: () => { total: number; idle: number; waiting: number },
): Metrics {
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
      for (const [state, value] of Object.entries(poolState())) this.set({ state }, value);
    },
  });
  return {
    registry,
    observeRequest: ({ method, route, status }, seconds) =>
      requests.observe({ method, route, status: String(status) }, seconds),
  };
}

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type StoreState, storeStates } from '../../kernel/values.ts';

/** What became of the records of one call of ingest. */
type IngestCounts = {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: number;
};

/** What the service measures about itself, for Prometheus. */
export type Metrics = {
  readonly registry: Registry;
  /** All metrics, for whoever scrapes them. */
  read(): Promise<string>;
  /** Whether somebody has read them in the last five minutes, as a Prometheus does each minute. */
  isScraped(): boolean;
  /** Counts an answered request. `route` is its pattern: paths would make a new series for every id. */
  observeRequest(labels: { method: string; route: string; status: number }, seconds: number): void;
  /** Counts one answer that was a problem, by the code of the catalogue of errors. */
  observeProblem(code: string): void;
  /** Counts the records of one call of ingest. */
  observeIngest(counts: IngestCounts): void;
  /** Counts one attempt to deliver a webhook. `result` is `delivered` or the class of the failure. */
  observeAttempt(result: string, seconds: number): void;
  /** Counts the time for which background work has given way to clients. */
  observeRest(work: string, seconds: number): void;
};

/** What a process tells of itself without asking anybody. */
export type ProcessFacts = {
  readonly version: string;
  /** The newest migration that this build knows. */
  readonly schema: string;
  /** All roles, and whether this process has them. */
  readonly roles: Readonly<Record<string, boolean>>;
  /** The kinds of background work that give way. */
  readonly works: readonly string[];
  poolState(): { total: number; idle: number; waiting: number };
  /** How the store of cold data stands to this database. */
  storeState(): StoreState;
};

const scrapedMillis = 300_000;

/** Makes the registry of all metrics. */
export function createMetrics(facts: ProcessFacts, now = () => performance.now()): Metrics {
  let readAt = Number.NEGATIVE_INFINITY;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  addFacts(registry, facts);
  const requests = new Histogram({
    name: 'svcctl_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300],
    registers,
  });
  const problems = new Counter({
    name: 'svcctl_http_problems_total',
    help: 'Requests that were refused or failed, by the code of the problem.',
    labelNames: ['code'],
    registers,
  });
  const ingested = new Counter({
    name: 'svcctl_ingest_records_total',
    help: 'Records that were sent to be stored, by what became of them.',
    labelNames: ['result'],
    registers,
  });
  const attempts = new Counter({
    name: 'svcctl_delivery_attempts_total',
    help: 'Attempts to deliver a webhook, by what came of them.',
    labelNames: ['result'],
    registers,
  });
  const attemptSeconds = new Histogram({
    name: 'svcctl_delivery_attempt_duration_seconds',
    help: 'Time of one attempt, from the look-up of the name to the end of the answer.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15],
    registers,
  });
  const rests = new Counter({
    name: 'svcctl_background_rest_seconds_total',
    help: 'Time for which background work has given way to clients, by kind of work.',
    labelNames: ['work'],
    registers,
  });
  for (const work of facts.works) rests.inc({ work }, 0);
  for (const result of ['accepted', 'duplicate', 'rejected']) ingested.inc({ result }, 0);
  return {
    registry,
    read() {
      readAt = now();
      return registry.metrics();
    },
    isScraped: () => now() - readAt < scrapedMillis,
    observeRest: (work, seconds) => rests.inc({ work }, seconds),
    observeAttempt(result, seconds) {
      attempts.inc({ result });
      attemptSeconds.observe(seconds);
    },
    observeRequest: ({ method, route, status }, seconds) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    observeProblem: (code) => problems.inc({ code }),
    observeIngest({ accepted, duplicates, rejected }) {
      ingested.inc({ result: 'accepted' }, accepted);
      ingested.inc({ result: 'duplicate' }, duplicates);
      ingested.inc({ result: 'rejected' }, rejected);
    },
  };
}

function addFacts(registry: Registry, facts: ProcessFacts): void {
  const registers = [registry];
  new Gauge({
    name: 'svcctl_build_info',
    help: 'Always 1; the labels say which build this is, on which Node.js, and which schema it makes.',
    labelNames: ['version', 'node', 'schema'],
    registers,
  }).set({ version: facts.version, node: process.version, schema: facts.schema }, 1);
  const roles = new Gauge({
    name: 'svcctl_role',
    help: '1 under each role that this process has.',
    labelNames: ['role'],
    registers,
  });
  for (const [role, has] of Object.entries(facts.roles)) roles.set({ role }, Number(has));
  new Gauge({
    name: 'svcctl_database_connections',
    help: 'Connections of the pool; waiting = callers that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [state, value] of Object.entries(facts.poolState())) this.set({ state }, value);
    },
  });
  new Gauge({
    name: 'svcctl_cold_store',
    help: '1 under the state of the store of cold data: own, else it is not written to; elsewhere = another database writes it.',
    labelNames: ['state'],
    registers,
    collect() {
      const now = facts.storeState();
      for (const state of storeStates) this.set({ state }, Number(state === now));
    },
  });
}

import { runSections } from './lib/run-sections.mjs';
import { benchIsolation, benchLatency, benchSlow, benchThrottled } from './webhooks/beside.mjs';
import { benchDeadLetters, benchRearm } from './webhooks/dead-letters.mjs';
import { benchFilters } from './webhooks/filters.mjs';
import { benchOrdered } from './webhooks/ordered.mjs';
import { benchIncidents, benchThroughput } from './webhooks/rates.mjs';
import { benchReplay } from './webhooks/replay.mjs';

const sections = {
  incidents: benchIncidents,
  filters: benchFilters,
  ordered: benchOrdered,
  throughput: benchThroughput,
  latency: benchLatency,
  isolation: benchIsolation,
  slow: benchSlow,
  throttled: benchThrottled,
  'dead-letters': benchDeadLetters,
  rearm: benchRearm,
  replay: benchReplay,
};

const standard = {
  incidents: { requests: 15_000, pairs: 3 },
  filters: { requests: 5000, pairs: 3, endpoints: 1000 },
  ordered: { requests: 3000, pairs: 3 },
  throughput: { deliveries: 30_000, pairs: 3 },
  latency: { seconds: 30, singles: 50, warmSeconds: 2 },
  isolation: { seconds: 20, backlog: 100_000, pairs: 2, warmSeconds: 2 },
  slow: { seconds: 60, backlog: 1000, warmSeconds: 2, answerMillis: 12_000 },
  throttled: { seconds: 120 },
  deadLetters: { few: 10_000, many: 1_000_000, requests: 300 },
  rearm: { rows: 1_000_000, warmSeconds: 2, beforeSeconds: 5, duringSeconds: 10 },
  replay: { rows: 50_000, warmSeconds: 2, seconds: 30 },
};

/** How much each kind of run measures; `smallest` only shows that a section still runs. */
const sizes = {
  smallest: {
    incidents: { requests: 80, pairs: 1 },
    filters: { requests: 40, pairs: 1, endpoints: 20 },
    ordered: { requests: 80, pairs: 1 },
    throughput: { deliveries: 200, pairs: 1 },
    latency: { seconds: 0.3, singles: 2, warmSeconds: 0.2 },
    isolation: { seconds: 0.3, backlog: 200, pairs: 1, warmSeconds: 0.2 },
    slow: { seconds: 0.3, backlog: 20, warmSeconds: 0.2, answerMillis: 100 },
    throttled: { seconds: 1 },
    deadLetters: { few: 500, many: 1000, requests: 2 },
    rearm: { rows: 500, warmSeconds: 0.2, beforeSeconds: 0.3, duringSeconds: 0.5 },
    replay: { rows: 500, warmSeconds: 0.2, seconds: 0.5 },
  },
  quick: {
    incidents: { requests: 8000, pairs: 1 },
    filters: { requests: 2000, pairs: 1, endpoints: 1000 },
    ordered: { requests: 600, pairs: 1 },
    throughput: { deliveries: 5000, pairs: 1 },
    latency: { seconds: 5, singles: 10, warmSeconds: 2 },
    isolation: { seconds: 5, backlog: 10_000, pairs: 1, warmSeconds: 2 },
    slow: { seconds: 30, backlog: 500, warmSeconds: 2, answerMillis: 12_000 },
    throttled: { seconds: 30 },
    deadLetters: { few: 2000, many: 50_000, requests: 50 },
    rearm: { rows: 20_000, warmSeconds: 2, beforeSeconds: 5, duringSeconds: 10 },
    replay: { rows: 10_000, warmSeconds: 2, seconds: 10 },
  },
  standard,
  full: standard,
};

/**
 * Webhooks: incidents against one INSERT each, also with filters, deliveries against bare signed POSTs to the same receiver; latency, isolation, receivers
 * that are slow or refuse what is too much, and the dead-letter queue at a million rows.
 */
export const runBench = (options) => runSections({ name: 'webhooks', sections, sizes }, options);

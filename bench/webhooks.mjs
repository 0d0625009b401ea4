import { runSections } from './lib/run-sections.mjs';
import { benchDeadLetters } from './webhooks/dead-letters.mjs';
import { benchIncidents } from './webhooks/incidents.mjs';
import { benchIsolation } from './webhooks/isolation.mjs';
import { benchLatency } from './webhooks/latency.mjs';
import { benchRearm } from './webhooks/rearm.mjs';
import { sizes } from './webhooks/sizes.mjs';
import { benchSlow } from './webhooks/slow.mjs';
import { benchThrottled } from './webhooks/throttled.mjs';
import { benchThroughput } from './webhooks/throughput.mjs';

const sections = {
  incidents: benchIncidents,
  throughput: benchThroughput,
  latency: benchLatency,
  isolation: benchIsolation,
  slow: benchSlow,
  throttled: benchThrottled,
  'dead-letters': benchDeadLetters,
  rearm: benchRearm,
};

/**
 * Webhooks: incidents against one INSERT each, deliveries against bare signed POSTs to the same receiver; latency, isolation, receivers
 * that are slow or refuse what is too much, and the dead-letter queue at a million rows.
 */
export const runBench = (options) => runSections({ name: 'webhooks', sections, sizes }, options);

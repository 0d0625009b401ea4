import { makeReport } from '../lib/report.mjs';

/** What must be nothing. */
const violations = [
  ['acknowledged deliveries neither received nor in the queue', 'lost'],
  ['incidents stored twice, though sent again under one key', 'storedTwice'],
  ['requests with another body under one webhook-id, or of no delivery', 'wrongBodies'],
  ['duplicates of deliveries that were not in flight at a kill or freeze', 'unexplained'],
  ['rows stuck: neither delivered nor retried at the end', 'stuck'],
  ['leases held at the end', 'leases'],
  [
    'counters of the dead-letter queue that differ from its rows, looked at in every round',
    'wrongCounts',
  ],
  ['answers other than 202 and 503', 'faults'],
];

const facts = [
  ['kill -9 of a drainer', 'drainer'],
  ['kill -9 of PostgreSQL', 'postgres'],
  ['drainers frozen by SIGSTOP until the other had their lanes, then going on', 'frozen'],
  ['incidents acknowledged', 'acknowledged'],
  ['requests refused or broken off meanwhile, and sent again', 'refused'],
  ['deliveries of these', 'deliveries'],
  ['attempts recorded', 'attempts'],
  ['requests at the receiver', 'requests'],
  ['deliveries in flight at the kills and freezes', 'inFlight'],
  ['duplicates received: accepted before, and came again', 'duplicates'],
];

export const { reportTable, isKept } = makeReport({
  facts,
  violations,
  bounds: { duplicates: { name: 'inFlight', text: 'in flight' } },
});

import { makeReport } from '../lib/report.mjs';

/** What must be nothing. */
const violations = [
  [
    'acknowledged deliveries neither received nor in the queue, nor discarded by a click after them',
    'lost',
  ],
  ['incidents stored twice, though sent again under one key', 'storedTwice'],
  ['requests with another body under one webhook-id, or of no delivery', 'wrongBodies'],
  ['duplicates of deliveries that were not in flight at a kill or freeze', 'unexplained'],
  ['attempts counted for an answer of 429', 'countedRefusals'],
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
  [
    'backlogs of 6,000 discarded under load, half of them through a kill -9 of PostgreSQL',
    'discard',
  ],
  ['bulk retries of all that was abandoned, with a kill of a drainer meanwhile', 'redrive'],
  ['requests answered 429, because the receiver took no more in that second', 'throttled'],
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

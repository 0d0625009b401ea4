import { makeReport } from '../lib/report.mjs';

/** What must be nothing. */
const violations = [
  ['requests failed while processes were restarted', 'failedAtRestarts'],
  ['requests failed after a kill that were not in flight on the killed process', 'unexplained'],
  ['processes that SIGTERM ended with another code than 0', 'wrongExits'],
  ['records acknowledged and not stored once', 'wrongRecords'],
  ['incidents acknowledged and not stored once', 'wrongIncidents'],
];

const facts = [
  ['processes ended by SIGTERM and started again, one after the other', 'restarts'],
  ['requests meanwhile', 'requestsAtRestarts'],
  ['processes ended by kill -9', 'kills'],
  ['requests meanwhile', 'requestsAtKills'],
  ['of these, in flight on a killed process', 'inFlight'],
  ['of these, failed', 'failedInFlight'],
  ['requests of all that stored records', 'ingest'],
  ['… read lists and pages', 'reads'],
  ['… reported incidents', 'incidents'],
  ['… exported CSV', 'exports'],
];

export const { reportTable, isKept } = makeReport({
  facts,
  violations,
  bounds: { failedInFlight: { name: 'inFlight', text: 'in flight' } },
});

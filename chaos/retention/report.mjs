import { makeReport } from '../lib/report.mjs';

/** What must be nothing. */
const violations = [
  ['tenants whose leaf is not what was acknowledged (count and digest)', 'wrongLeaves'],
  ['tenants whose pages are not what was acknowledged (each record once, digest)', 'wrongPages'],
  ['tenants whose CSV has another number of rows, or is not whole', 'wrongExports'],
  ['differences found by `retention verify`: objects, catalogue, counters', 'problems'],
  ['clones after which not exactly one database had the store', 'wrongCopies'],
  ['moves neither finished nor failed at the end', 'openMoves'],
  ['moves failed: what was written did not equal its source', 'failedMoves'],
  ['answers other than success, 409, 429 and 503', 'faults'],
];

const facts = [
  ['kill -9 of the service', 'service'],
  ['kill -9 of PostgreSQL', 'postgres'],
  ['of these, just when a move was in a chosen state', 'atArrow'],
  ['clones of the database on the same store, both in service', 'clones'],
  ['of these, had the store, which the original took back', 'copyFirst'],
  ['objects that such clones wrote, told by `retention verify` as orphans', 'orphansOfCopies'],
  ['records acknowledged', 'acknowledged'],
  ['requests refused or broken off meanwhile, and sent again', 'refused'],
  ['records that were sent again, answered as duplicates', 'duplicatesSent'],
  ['records with another content under a stored identity, rejected', 'conflictsSent'],
  ['runs of retention asked for', 'runs'],
  ['moves done', 'moves'],
  ['compactions done', 'compactions'],
  ['cold records read back in the end', 'verified'],
];

export const { reportTable, isKept } = makeReport({ facts, violations });

import { makeReport } from '../lib/report.mjs';

/** What must be nothing. */
const violations = [
  ['records acknowledged before a backup began, and not in what was restored', 'missing'],
  ['records restored that were never sent, or with another content', 'foreign'],
  ['tenants restored whose counters are not what their pages hold (count, digest)', 'wrongLeaves'],
  ['deliveries of incidents acknowledged before, and not restored', 'lostRestored'],
  ['deliveries made before the backup, and attempted again by the restored service', 'repeated'],
  ['problems that `svcctl doctor` found on a restored service', 'findings'],
  ['backups in the place at the end that `backup verify` refuses', 'wrongBackups'],
  ['rows of backups still under way at the end', 'openRuns'],
  ['objects of the original still held from removal at the end', 'held'],
  [
    'tenants of the original whose leaf, pages or CSV are not what was acknowledged',
    'wrongRecords',
  ],
  ['differences found by `retention verify` on the original', 'problems'],
  ['moves of the original neither finished nor done', 'openMoves'],
  ['deliveries of the original lost, doubled or changed', 'lostDeliveries'],
  ['duplicates that neither a kill nor a restored drainer explains', 'unexplained'],
  ['deliveries of the original stuck, or under a lease, at the end', 'stuck'],
  ['commands, answers and exports that failed otherwise than they may', 'faults'],
];

const facts = [
  ['whole backups', 'whole'],
  ['incremental backups', 'incremental'],
  ['kill -9 of a backup, which the next one went on with', 'killedBackups'],
  ['backups that failed because PostgreSQL went away, and were made again', 'failedBackups'],
  ['kill -9 of the service amid a backup', 'serviceKills'],
  ['kill -9 of PostgreSQL amid a backup', 'postgresKills'],
  ['drills', 'drills'],
  ['restores beside the running original, each with a service started on it', 'restores'],
  ['kill -9 of a drill or restore, which the next one went on with', 'restoreKills'],
  ['records acknowledged', 'records'],
  ['records read back from restored services', 'recordsRestored'],
  ['moves done by the original', 'moves'],
  ['export jobs completed by the original', 'exports'],
  ['incidents acknowledged', 'incidents'],
  ['deliveries looked up in restored services', 'deliveriesRestored'],
  ['of these, open at the backup and attempted by the restored drainer, too', 'sentAgain'],
  ['backups that `--keep 3` left in the place', 'keptBackups'],
];

export const { reportTable, isKept } = makeReport({ facts, violations });

import { numberOf } from '../kernel/values.ts';
import { listMigrations, missingOf, newerOf, readJournal } from '../platform/postgres/migrate.ts';
import { findMissingStandbys, isReadOnly } from '../platform/postgres/replication.ts';
import type { SlowStatement } from '../platform/postgres/slow-statements.ts';
import type { Check, Look, Problem } from './check.ts';
import type { ProcessRow } from './contract.ts';
import * as queries from './queries.ts';

/** Whoever archives WAL wants to go back by this much at least. */
const leastWindowSeconds = 86_400;

/** Whether replaced objects go before archived WAL would ask for them. */
function judgeWindow(processes: readonly ProcessRow[]): Problem[] {
  const windows = processes.flatMap(({ settings }) => {
    const seconds = Number(settings.SVC_COLD_GRACE_SECONDS ?? Number.NaN);
    return Number.isNaN(seconds) ? [] : [seconds];
  });
  const shortest = Math.min(...windows);
  if (shortest >= leastWindowSeconds) return [];
  return [
    {
      text: `WAL is archived, but replaced objects of cold data stay for ${Math.round(shortest / 60)} minutes only: a database that is set back further does not find them`,
      severity: 'warning',
    },
  ];
}

/** What the database says of itself. */
export const databaseChecks: readonly Check[] = [
  {
    name: 'schema',
    severity: 'critical',
    look: compareSchema,
    well: 'the schema of the database is that of this release',
    remedy:
      'Start this release everywhere: its start migrates. A newer schema is survived by one release: go on with the update.',
    command: () => 'svcctl version --check-schema',
    isQuick: true,
  },
  {
    name: 'durability',
    severity: 'critical',
    async look({ db, processes }) {
      const { fsync, full_page_writes, synchronous_commit, archive_mode } =
        await queries.readDurability(db);
      return [
        ...(archive_mode === 'off' ? [] : judgeWindow(await processes())),
        ...(fsync === 'off' ? [{ text: 'fsync is off: a crash may lose everything' }] : []),
        ...(full_page_writes === 'off'
          ? [{ text: 'full_page_writes is off: a crash may damage pages' }]
          : []),
        ...(synchronous_commit === 'off'
          ? [
              {
                text: 'synchronous_commit is off for others: svcctl switches it on for itself, but what else writes here may lose what was acknowledged',
                severity: 'warning' as const,
              },
            ]
          : []),
      ];
    },
    well: 'what is acknowledged is on the disk',
    remedy:
      'Set it back to on, in postgresql.conf, at the role and at the database. SVC_COLD_GRACE_SECONDS says how far back archived WAL may set the database, at least a day: docs/operations/point-in-time.md.',
    isQuick: true,
  },
  {
    name: 'database_read_only',
    row: 'writes',
    severity: 'critical',
    look: async ({ db }) =>
      (await isReadOnly(db))
        ? [{ text: 'the database only reads: it is a standby, or was made read only' }]
        : [],
    well: 'the database takes what is written',
    remedy:
      'Promote it, or make room on the disk of its server and set default_transaction_read_only to off.',
    isQuick: true,
  },
  {
    name: 'standby_missing',
    row: 'writes',
    severity: 'critical',
    look: async ({ db }) =>
      (await findMissingStandbys(db)).map((name) => ({
        text: `each write waits for ${name === '*' ? 'a standby' : `the standby ${name}`}, which is not connected`,
        id: name,
      })),
    well: 'no write waits for a standby that is not connected',
    remedy:
      'Start the standby, or take it out of synchronous_standby_names (select pg_reload_conf()).',
    isQuick: true,
  },
  {
    name: 'indexes',
    severity: 'critical',
    async look({ db }) {
      const names = await queries.listInvalidIndexes(db);
      return names.map((name) => ({
        text: `the index ${name} is invalid, so nothing uses it`,
        id: name,
      }));
    },
    well: 'all indexes are valid',
    remedy: 'Build it anew: reindex index concurrently NAME.',
    isQuick: true,
  },
  {
    name: 'connections',
    severity: 'warning',
    look: async ({ db }) => judgeConnections(await queries.countConnections(db)),
    well: 'the server has connections to spare',
    remedy:
      'Raise max_connections, lower SVC_DATABASE_CONNECTIONS, or see who else connects (pg_stat_activity).',
    isQuick: true,
  },
  {
    name: 'locks',
    severity: 'warning',
    look: async ({ db }) => judgeLocks(await queries.readLockTable(db)),
    well: 'the table of locks has room for statements over all months',
    remedy: 'Raise max_locks_per_transaction: twice the months and 256 more is enough in any case.',
    isQuick: true,
  },
  {
    name: 'transactions',
    severity: 'warning',
    async look({ db }): Promise<Problem[]> {
      const rows = await queries.listOldSnapshots(db, oldSnapshotSeconds);
      return rows.map(({ what, seconds }) => ({
        text: `${what} has held back vacuum for ${Math.round(seconds / 60)} minutes`,
        severity: seconds < 4 * 3600 ? 'warning' : 'critical',
      }));
    },
    well: 'nothing holds back vacuum for long',
    remedy:
      'End it (pg_terminate_backend, rollback prepared, pg_drop_replication_slot): until then the space of deleted rows cannot be used again.',
    isQuick: true,
  },
  {
    name: 'vacuum',
    severity: 'warning',
    look: async ({ db }) => judgeVacuum(await queries.readVacuum(db)),
    well: 'autovacuum keeps up',
    remedy:
      'Vacuum the table (vacuum analyze NAME), and let autovacuum work: switched on, with a greater autovacuum_vacuum_cost_limit, and no old transaction open.',
  },
  {
    name: 'statements',
    severity: 'warning',
    look: ({ slowStatements }) => judgeStatements(slowStatements()),
    well: 'the process that answers has no statement that is slow again and again',
    remedy:
      'See what else the server does, and whether autovacuum keeps up; GET /status tells all of them (SVC_SLOW_STATEMENT_MILLIS).',
    isQuick: true,
  },
];

/** Work on a large table may be slow once or twice. */
const fewestTimes = 5;
const mostTold = 3;

export function judgeStatements(slow: readonly SlowStatement[]): Problem[] {
  const again = slow.filter(({ count }) => count >= fewestTimes).slice(0, mostTold);
  return again.map(({ text, count, totalMillis, maxMillis }) => ({
    text: `${numberOf(count, 'slow answer')}, ${seconds(totalMillis)} in all and ${seconds(maxMillis)} at most: ${text.slice(0, 100)}`,
  }));
}

function seconds(millis: number): string {
  return `${(millis / 1000).toFixed(1)} s`;
}

const oldSnapshotSeconds = 900;
const fewestStatements = 20;

async function compareSchema({ db }: Look): Promise<Problem[]> {
  const known = (await listMigrations()).map((name) => ({ name }));
  const rows = await readJournal(db);
  const missing = missingOf(rows, known);
  return [
    ...(missing.length > 0
      ? [
          {
            text: `the database lacks ${numberOf(missing.length, 'migration')}: ${missing[0]?.name} …`,
          },
        ]
      : []),
    ...newerOf(rows, known).map(({ name, isSurvived }) => ({
      text: `the database belongs to a newer release (${name})`,
      severity: isSurvived ? ('warning' as const) : ('critical' as const),
    })),
  ];
}

export function judgeConnections({ used, most }: { used: number; most: number }): Problem[] {
  if (used < most * 0.8) return [];
  const text = `${used} of ${most} connections of the server are in use`;
  return [{ text, severity: used < most * 0.95 ? 'warning' : 'critical' }];
}

/** As docs/operations/databases.md has it: a statement over all months takes up to two locks for each. */
export function judgeLocks(table: queries.LockTable): Problem[] {
  const { room, used, months, per_transaction: perTransaction } = table;
  const statements = Math.floor(room / (2 * months + 2));
  const wrong: Problem[] = [];
  if (perTransaction < 2 * months + 256 && statements < fewestStatements) {
    wrong.push({
      text: `with ${numberOf(months, 'month')} the table of locks (${room}) has room for ${statements} statements at once that read all months`,
    });
  }
  if (used > room / 2) {
    wrong.push({
      text: `${used} of ${room} places of the table of locks are taken`,
      severity: 'critical',
    });
  }
  return wrong;
}

export function judgeVacuum({ isOn, tables, ages }: queries.Vacuum): Problem[] {
  return [
    ...(isOn ? [] : [{ text: 'autovacuum is off', severity: 'critical' as const }]),
    ...tables.map(({ name, dead, live }) => ({
      text: `${name} has ${numberOf(dead, 'dead row')} beside ${live.toLocaleString('en')} live ones, and was not vacuumed within a day`,
    })),
    ...ages.map(({ name, age }) => ({
      text: `${name} was last frozen ${Math.round(age / 1e6)} million transactions ago, and autovacuum does not keep up`,
      severity: age > 1.2e9 ? ('critical' as const) : ('warning' as const),
    })),
  ];
}

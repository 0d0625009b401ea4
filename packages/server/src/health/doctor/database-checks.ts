import { numberOf } from '../../kernel/values.ts';
import { missingOf, newerOf, readJournal } from '../../platform/postgres/migrate.ts';
import { findMissingStandbys, isReadOnly } from '../../platform/postgres/replication.ts';
import type { SlowStatement } from '../../platform/postgres/slow-statements.ts';
import type { Check, Examined, Problem } from './check.ts';
import * as queries from './queries.ts';

/** Whoever archives WAL wants to go back by this much at least. */
const leastWindowSeconds = 86_400;

/** Whether replaced objects go before archived WAL would ask for them. */
function judgeWindow(processes: Examined['processes']): Problem[] {
  const windows = processes.flatMap(({ settings }) => {
    const seconds = Number(settings.SVC_COLD_GRACE_SECONDS ?? Number.NaN);
    return Number.isNaN(seconds) ? [] : [seconds];
  });
  const shortest = Math.min(...windows);
  if (shortest >= leastWindowSeconds) return [];
  return [
    {
      found: `WAL is archived, but replaced objects of cold data stay for ${Math.round(shortest / 60)} minutes only: a database that is set back further does not find them`,
      severity: 'warning',
    },
  ];
}

/** What the database says of itself. */
export const databaseChecks: readonly Check[] = [
  {
    name: 'schema',
    severity: 'problem',
    run: compareSchema,
    well: 'the schema of the database is that of this release',
    remedy:
      'Start this release everywhere: its start migrates. A newer schema is survived by one release: go on with the update.',
    isQuick: true,
  },
  {
    name: 'durability',
    severity: 'problem',
    async run({ db, processes }) {
      const { fsync, full_page_writes, synchronous_commit, archive_mode } =
        await queries.readDurability(db);
      return [
        ...(archive_mode === 'off' ? [] : judgeWindow(processes)),
        ...(fsync === 'off' ? [{ found: 'fsync is off: a crash may lose everything' }] : []),
        ...(full_page_writes === 'off'
          ? [{ found: 'full_page_writes is off: a crash may damage pages' }]
          : []),
        ...(synchronous_commit === 'off'
          ? [
              {
                found:
                  'synchronous_commit is off for others: svcctl switches it on for itself, but what else writes here may lose what was acknowledged',
                severity: 'warning' as const,
              },
            ]
          : []),
      ];
    },
    well: 'what is acknowledged is on the disk',
    remedy:
      'Set it back to on, in postgresql.conf, at the role and at the database. SVC_COLD_GRACE_SECONDS says how far back archived WAL may set the database, at least a day: docs/operations.md, "Point in time".',
    isQuick: true,
  },
  {
    name: 'writes',
    severity: 'problem',
    async run({ db }) {
      const missing = await findMissingStandbys(db);
      return [
        ...((await isReadOnly(db))
          ? [{ found: 'the database only reads: it is a standby, or was made read only' }]
          : []),
        ...missing.map((name) => ({
          found: `each write waits for ${name === '*' ? 'a standby' : `the standby ${name}`}, which is not connected`,
        })),
      ];
    },
    well: 'the database takes what is written',
    remedy:
      'Start the standby, or take it out of synchronous_standby_names (select pg_reload_conf()). If the database only reads: promote it, or make room on its disk and set default_transaction_read_only to off.',
    isQuick: true,
  },
  {
    name: 'indexes',
    severity: 'problem',
    async run({ db }) {
      const names = await queries.listInvalidIndexes(db);
      return names.map((name) => ({ found: `the index ${name} is invalid, so nothing uses it` }));
    },
    well: 'all indexes are valid',
    remedy: 'Build it anew: reindex index concurrently NAME.',
    isQuick: true,
  },
  {
    name: 'connections',
    severity: 'warning',
    run: async ({ db }) => judgeConnections(await queries.countConnections(db)),
    well: 'the server has connections to spare',
    remedy:
      'Raise max_connections, lower SVC_DATABASE_CONNECTIONS, or see who else connects (pg_stat_activity).',
    isQuick: true,
  },
  {
    name: 'locks',
    severity: 'warning',
    run: async ({ db }) => judgeLocks(await queries.readLockTable(db)),
    well: 'the table of locks has room for statements over all months',
    remedy: 'Raise max_locks_per_transaction: twice the months and 256 more is enough in any case.',
    isQuick: true,
  },
  {
    name: 'transactions',
    severity: 'warning',
    async run({ db }): Promise<Problem[]> {
      const rows = await queries.listOldSnapshots(db, oldSnapshotSeconds);
      return rows.map(({ what, seconds }) => ({
        found: `${what} has held back vacuum for ${Math.round(seconds / 60)} minutes`,
        severity: seconds < 4 * 3600 ? 'warning' : 'problem',
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
    run: async ({ db }) => judgeVacuum(await queries.readVacuum(db)),
    well: 'autovacuum keeps up',
    remedy:
      'Vacuum the table (vacuum analyze NAME), and let autovacuum work: switched on, with a greater autovacuum_vacuum_cost_limit, and no old transaction open.',
  },
  {
    name: 'statements',
    severity: 'warning',
    run: ({ listSlow }) => judgeStatements(listSlow()),
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
    found: `${numberOf(count, 'slow answer')}, ${seconds(totalMillis)} in all and ${seconds(maxMillis)} at most: ${text.slice(0, 100)}`,
  }));
}

function seconds(millis: number): string {
  return `${(millis / 1000).toFixed(1)} s`;
}

const oldSnapshotSeconds = 900;
const fewestStatements = 20;

async function compareSchema({ db, knownMigrations }: Examined): Promise<Problem[]> {
  const known = knownMigrations.map((name) => ({ name }));
  const rows = await readJournal(db);
  const missing = missingOf(rows, known);
  return [
    ...(missing.length > 0
      ? [
          {
            found: `the database lacks ${numberOf(missing.length, 'migration')}: ${missing[0]?.name} …`,
          },
        ]
      : []),
    ...newerOf(rows, known).map(({ name, isSurvived }) => ({
      found: `the database belongs to a newer release (${name})`,
      severity: isSurvived ? ('warning' as const) : ('problem' as const),
    })),
  ];
}

export function judgeConnections({ used, most }: { used: number; most: number }): Problem[] {
  if (used < most * 0.8) return [];
  const found = `${used} of ${most} connections of the server are in use`;
  return [{ found, severity: used < most * 0.95 ? 'warning' : 'problem' }];
}

/** As docs/operations.md has it: a statement over all months takes up to two locks for each. */
export function judgeLocks(table: queries.LockTable): Problem[] {
  const { room, used, months, per_transaction: perTransaction } = table;
  const statements = Math.floor(room / (2 * months + 2));
  const wrong: Problem[] = [];
  if (perTransaction < 2 * months + 256 && statements < fewestStatements) {
    wrong.push({
      found: `with ${numberOf(months, 'month')} the table of locks (${room}) has room for ${statements} statements at once that read all months`,
    });
  }
  if (used > room / 2) {
    wrong.push({
      found: `${used} of ${room} places of the table of locks are taken`,
      severity: 'problem',
    });
  }
  return wrong;
}

export function judgeVacuum({ isOn, tables, ages }: queries.Vacuum): Problem[] {
  return [
    ...(isOn ? [] : [{ found: 'autovacuum is off', severity: 'problem' as const }]),
    ...tables.map(({ name, dead, live }) => ({
      found: `${name} has ${numberOf(dead, 'dead row')} beside ${live.toLocaleString('en')} live ones, and was not vacuumed within a day`,
    })),
    ...ages.map(({ name, age }) => ({
      found: `${name} was last frozen ${Math.round(age / 1e6)} million transactions ago, and autovacuum does not keep up`,
      severity: age > 1.2e9 ? ('problem' as const) : ('warning' as const),
    })),
  ];
}

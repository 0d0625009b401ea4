import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { auditLocally, createToken, describeToken, type NewToken } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../platform/log.ts';
import {
  type Cluster,
  distribute,
  distributeSmall,
  needCluster,
} from '../platform/postgres/distribute.ts';
import {
  checkSchema,
  listMigrations,
  migrate,
  type SchemaState,
} from '../platform/postgres/migrate.ts';
import { withClosers } from '../platform/work/stop.ts';
import { type Recounted, recount } from '../retention/index.ts';
import {
  makeDataDir,
  openOwnDatabase,
  refuseOtherDatabase,
  untilReachable,
  withOwnDatabase,
} from './database.ts';

// What commands do with the database of these settings by themselves, whether or not a service runs on it.

/**
 * Makes a token without the API, for operators without an admin token. The audit log calls its maker "this machine".
 */
export async function createLocalToken(settings: Settings, log: Log, request: NewToken) {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    return db.transaction(async (connection) => {
      const maker = { creator: null, nowMillis: systemClock() };
      const made = await createToken(connection, request, maker);
      await auditLocally(connection, 'this machine', {
        action: 'token.create',
        target: made.id,
        after: describeToken(made),
      });
      return made;
    });
  });
}

/** Makes counters anew that are not what they count. */
export async function recountRecords(
  settings: Settings,
  log: Log,
  options: { tenant: string | null; isDry: boolean; signal: AbortSignal },
): Promise<Recounted> {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    return recount(db, { ...options, audit: auditLocally });
  });
}

/** Migrates as a start does, once the database answers. Returns what it applied, and the last migration of all. */
export async function migrateOwnDatabase(settings: Settings, log: Log, signal: AbortSignal) {
  await makeDataDir(settings);
  return withClosers(log, async (closers) => {
    const db = await openOwnDatabase(settings, log, closers, signal);
    return untilReachable(settings, { log, signal }, async () => {
      const applied = await migrate(db, signal);
      await distributeSmall(db);
      return { applied, schema: (await checkSchema(db)).database };
    });
  });
}

/** Whether the settings name a database, or the data folder has one: else a start would make one. */
export function hasDatabase({ databaseUrl, dataDir }: Settings): boolean {
  return databaseUrl !== undefined || existsSync(join(dataDir, 'postgres', 'PG_VERSION'));
}

/** Compares the database with this release. Where there is none yet, none is made. */
export async function checkOwnSchema(settings: Settings, log: Log): Promise<SchemaState> {
  if (!hasDatabase(settings)) {
    await refuseOtherDatabase(settings);
    return { database: null, missing: await listMigrations(), newer: [], problem: null };
  }
  return withOwnDatabase(settings, log, checkSchema);
}

/** Does `work` with the Citus cluster and what distributes the rest. Throws `database_unusable` without a cluster. */
export async function withCluster(
  settings: Settings,
  log: Log,
  work: (cluster: Cluster, spread: () => Promise<Cluster>) => Promise<void>,
): Promise<void> {
  if (settings.databaseUrl === undefined) {
    throw new AppError('database_unusable', {
      detail:
        'The built-in PostgreSQL is one server. Set DATABASE_URL to the coordinator of a Citus cluster.',
    });
  }
  await withOwnDatabase(settings, log, async (db) =>
    work(await needCluster(db), async () => {
      await migrate(db);
      return distribute(db);
    }),
  );
}

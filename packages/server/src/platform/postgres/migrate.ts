import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import sql from 'sql-template-tag';
import { AppError } from '../../kernel/errors.ts';
import { type Connection, type Database, longestTimerMillis, usualLimits } from './database.ts';
import { advisoryLocks } from './locks.ts';
import { refuseUnfit } from './probe.ts';

const migrationsDir = new URL('../../../migrations/', import.meta.url);
const fileName = /^\d{4}-[a-z0-9-]+\.sql$/;

type Migration = { name: string; text: string; checksum: string };

/**
 * Brings the schema to this version and returns the names of the migrations that it applied. Each new file of
 * migrations/ runs in a transaction of its own, in the order of the names. One lock makes sure that only one process
 * migrates, however many start. Throws `database_unusable` when a newer version made the database or when an applied
 * file has changed, and before anything else when the database is none that svcctl can work with.
 */
export async function migrate(database: Database): Promise<string[]> {
  const migrations = await readMigrations();
  await refuseUnfit(database);
  return database.withConnection(async (connection) => {
    // Waiting for another process and changing a large table may both take long.
    await connection.client.query('set statement_timeout = 0; set lock_timeout = 0');
    await runPatiently(connection, `select pg_advisory_lock(${advisoryLocks.migrations})`);
    const applied = await applyMissing(connection, migrations);
    // If this fails, the connection is destroyed and the lock goes with it.
    await connection.query(sql`select pg_advisory_unlock(${advisoryLocks.migrations})`);
    await connection.query(usualLimits);
    return applied;
  });
}

async function applyMissing(connection: Connection, migrations: Migration[]): Promise<string[]> {
  await connection.client.query(`create table if not exists schema_migrations (
    name text collate "C" not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    constraint schema_migrations_pkey primary key (name)
  )`);
  const rows = await connection.query<{ name: string; checksum: string }>(
    sql`select name, checksum from schema_migrations`,
  );
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) refuseForeign(row, known.get(row.name));
  const applied = new Set(rows.map((row) => row.name));
  const missing = migrations.filter((migration) => !applied.has(migration.name));
  for (const migration of missing) {
    await connection.client.query('begin');
    await runPatiently(connection, migration.text);
    await connection.query(
      sql`insert into schema_migrations (name, checksum) values (${migration.name}, ${migration.checksum})`,
    );
    await connection.client.query('commit');
  }
  return missing.map((migration) => migration.name);
}

/** Runs a statement without the client's usual time-out. */
function runPatiently({ client }: Connection, text: string) {
  return client.query({ text, query_timeout: longestTimerMillis } as pg.QueryConfig);
}

function refuseForeign(
  row: { name: string; checksum: string },
  known: Migration | undefined,
): void {
  if (known === undefined) {
    throw new AppError('database_unusable', {
      detail: `The database has the migration ${row.name}, which this version of svcctl does not know. Start a newer version.`,
    });
  }
  if (known.checksum !== row.checksum) {
    throw new AppError('database_unusable', {
      detail: `The migration ${row.name} was changed after it had been applied. Restore the file as released.`,
    });
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(migrationsDir)).filter((name) => fileName.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, migrationsDir), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Log } from '../platform/log.ts';
import { listMigrations } from '../platform/postgres/migrate.ts';
import { checkSchema, type SchemaState } from '../platform/postgres/schema-check.ts';
import { withOwnDatabase } from './database.ts';

/** Returns the last migration of this release: the name of its schema. */
export async function nameSchema(): Promise<string> {
  return (await listMigrations()).at(-1) ?? '';
}

/** Compares the database of these settings with this release. Where there is none yet, none is made. */
export async function checkOwnSchema(settings: Settings, log: Log): Promise<SchemaState> {
  const isMade = existsSync(join(settings.dataDir, 'postgres', 'PG_VERSION'));
  if (settings.databaseUrl === undefined && !isMade) {
    return { database: null, missing: await listMigrations(), newer: [], problem: null };
  }
  return withOwnDatabase(settings, log, checkSchema);
}

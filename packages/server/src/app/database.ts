import type { Settings } from '../config/settings.ts';
import type { Log } from '../platform/log.ts';
import { type Database, openDatabase } from '../platform/postgres/database.ts';
import { startEmbeddedPostgres } from '../platform/postgres/embedded.ts';
import type { Closers } from '../platform/work/stop.ts';

/**
 * Opens the database of `DATABASE_URL`, or starts the embedded PostgreSQL when no URL is set. What must be closed again
 * joins `closers`.
 */
export async function openOwnDatabase(
  settings: Settings,
  log: Log,
  closers: Closers,
  signal?: AbortSignal,
): Promise<Database> {
  const url = settings.databaseUrl ?? (await startOwnPostgres(settings, log, closers, signal));
  const db = openDatabase({
    url,
    maxConnections: settings.databaseConnections,
    slowMillis: settings.slowStatementMillis,
    onError: (error) => log.warn({ err: error }, 'a database connection broke'),
  });
  closers.push(() => db.close());
  return db;
}

/** Does `work` with that database, and closes it again: for commands that need no service. */
export async function withOwnDatabase<T>(
  settings: Settings,
  log: Log,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const closers: Closers = [];
  try {
    return await work(await openOwnDatabase(settings, log, closers));
  } finally {
    for (const closer of closers.reverse()) await closer();
  }
}

async function startOwnPostgres(
  settings: Settings,
  log: Log,
  closers: Closers,
  signal?: AbortSignal,
): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    dataDir: settings.dataDir,
    ...(signal === undefined ? {} : { signal }),
    // That the embedded PostgreSQL starts and stops is of interest only to somebody who looks for a fault.
    log: (level, message, fields) => log[level === 'info' ? 'debug' : level](fields ?? {}, message),
  });
  closers.push(() => postgres.stop());
  return postgres.url;
}

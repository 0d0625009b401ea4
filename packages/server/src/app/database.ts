import { readFile, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../platform/log.ts';
import { makeFolders } from '../platform/make-folders.ts';
import type { Database } from '../platform/postgres/database.ts';
import { startEmbeddedPostgres } from '../platform/postgres/embedded.ts';
import { databaseError, describeFault } from '../platform/postgres/errors.ts';
import { analyzeTable, listGrown } from '../platform/postgres/growth.ts';
import { databaseOf, openDatabase, placeOf } from '../platform/postgres/open-database.ts';
import { refuseRestore } from '../platform/restore-mark.ts';
import { repeat, startLater, type Work } from '../platform/work/repeat.ts';
import { type Closers, withClosers } from '../platform/work/stop.ts';
import type { Host } from './host.ts';

/**
 * Opens `DATABASE_URL`, or starts the embedded PostgreSQL without one. What must be closed joins `closers`. Throws
 * `database_unusable` where a restore into the data folder has not ended.
 */
export async function openOwnDatabase(
  settings: Settings,
  log: Log,
  closers: Closers,
  signal?: AbortSignal,
): Promise<Database> {
  await refuseRestore(settings);
  return openToRestore(settings, log, closers, signal);
}

/** The same, for a restore. */
export async function openToRestore(
  settings: Settings,
  log: Log,
  closers: Closers,
  signal?: AbortSignal,
): Promise<Database> {
  await refuseOtherDatabase(settings);
  const url = settings.databaseUrl ?? (await startOwnPostgres(settings, log, closers, signal));
  const db = openDatabase({
    url,
    maxConnections: settings.databaseConnections,
    slowMillis: settings.slowStatementMillis,
    standbyMillis: settings.waits.standbyMillis,
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
  return withClosers(log, async (closers) => {
    const db = await openOwnDatabase(settings, log, closers);
    return naming(settings, () => work(db));
  });
}

/** A migration of another process may take long; a database that is away for so long is not about to come. */
const longestWaitMillis = 10 * 60_000;
const firstPauseMillis = 1000;
const lastPauseMillis = 30_000;

/**
 * Does `work` once the database answers, telling each failure. Throws faults that do not pass, others after 10 minutes.
 */
export async function untilReachable<T>(
  settings: Settings,
  {
    log,
    signal,
    sleep = (millis) => setTimeout(millis, undefined, { signal }),
    now = () => performance.now(),
  }: {
    log: Log;
    signal: AbortSignal;
    sleep?: (millis: number) => Promise<unknown>;
    now?: () => number;
  },
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = now();
  for (let pause = firstPauseMillis; ; pause = Math.min(2 * pause, lastPauseMillis)) {
    signal.throwIfAborted();
    try {
      return await naming(settings, work);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'database_unavailable') throw error;
      if (now() - startedAt + pause > longestWaitMillis) throw error;
      log.warn({ pauseSeconds: pause / 1000 }, `waiting for the database: ${error.detail}`);
      await sleep(pause);
    }
  }
}

/** Does `work`. When the database does not answer, the error says which, why, and which setting names it. */
export async function naming<T>(settings: Settings, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'database_unavailable') throw error;
    const { databaseUrl } = settings;
    const [place, remedy] =
      databaseUrl === undefined
        ? ['The embedded PostgreSQL', 'postgres.log in the data folder may say why.']
        : [
            `DATABASE_URL: the database at ${placeOf(databaseUrl)}`,
            'See that it runs, that this machine reaches it, and that the setting is right.',
          ];
    const why = error.cause === undefined ? error.detail : describeFault(error.cause);
    throw new AppError('database_unavailable', {
      detail: `${place} cannot be used: ${why.replace(/[.]$/, '')}. ${remedy}`,
      cause: error.cause,
    });
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

/**
 * The error of a start: where it says that a disk is full, `database_full`, with whose disk that is. It passes by itself
 * once there is room, which a setting that is wrong does not.
 */
export async function explainFullDisk(
  error: unknown,
  { dataDir, databaseUrl }: Pick<Settings, 'dataDir' | 'databaseUrl'>,
): Promise<unknown> {
  const server = databaseError(error);
  if (databaseUrl !== undefined && server?.code === '53100') {
    return new AppError('database_full', {
      detail: `DATABASE_URL: the disk of the database at ${placeOf(databaseUrl)} is full. Make room there, and start again; nothing is damaged. It says: ${server.message}`,
      cause: error,
    });
  }
  const said = error instanceof AppError ? error.detail : String(error);
  if (!/ENOSPC|EDQUOT|No space left on device/.test(said)) return error;
  const disk = await statfs(dataDir).catch(() => null);
  const free = disk === null ? '' : ` (${Math.floor((disk.bavail * disk.bsize) / 1e6)} MB free)`;
  return new AppError('database_full', {
    detail: `The disk of SVC_DATA_DIR, ${dataDir}, is full${free}. Make room on it, as docs/operations.md says under "When a disk is full", and start again; nothing is damaged. ${said}`,
    cause: error,
  });
}

const noteOf = ({ dataDir }: Pick<Settings, 'dataDir'>) => join(dataDir, 'database');

/** Notes in the data folder that its service uses `DATABASE_URL`, so that nothing begins another database there. */
export async function noteDatabase(settings: Pick<Settings, 'dataDir' | 'databaseUrl'>) {
  if (settings.databaseUrl === undefined) return;
  const text = `${databaseOf(settings.databaseUrl)}\n`;
  // A start on a full disk has nothing to write here.
  if ((await readFile(noteOf(settings), 'utf8').catch(() => '')) === text) return;
  await writeFile(noteOf(settings), text, { mode: 0o600, flush: true });
}

/** Throws `settings_invalid` without a `DATABASE_URL` where the service of the data folder has one. */
export async function refuseOtherDatabase(settings: Pick<Settings, 'dataDir' | 'databaseUrl'>) {
  if (settings.databaseUrl !== undefined) return;
  const noted = await readFile(noteOf(settings), 'utf8').catch(() => null);
  if (noted === null) return;
  throw new AppError('settings_invalid', {
    detail: `DATABASE_URL is not set, and the service of ${settings.dataDir} uses the database ${noted.trim()}. Set it as the service has it. Only where that database is given up, remove ${noteOf(settings)}: the next start then uses the built-in PostgreSQL.`,
  });
}

/** Makes the data folder unless it is there. Throws `settings_invalid` where the system refuses. */
export async function makeDataDir({ dataDir }: Pick<Settings, 'dataDir'>): Promise<void> {
  try {
    await makeFolders(dataDir, 0o700);
  } catch (error) {
    throw new AppError('settings_invalid', {
      detail: `SVC_DATA_DIR: ${dataDir} cannot be used: ${(error as Error).message}. Make it, and give it to the user who runs svcctl; or set another folder.`,
      cause: error,
    });
  }
}

/** A table that could not be analyzed, because that takes too long perhaps, is left to autovacuum for so long. */
const leftMillis = 600_000;

/**
 * Analyzes tables soon after they have more than doubled. The server does it by itself, but up to a minute later: after a
 * quiet night its planner takes a backlog for a single row, for which any index is as good as the key that a statement
 * gives. Then each batch of a hundred outcomes read 30,000 waiting deliveries three times.
 */
export function createAnalyzing({
  settings,
  db,
  log,
}: Pick<Host, 'settings' | 'db' | 'log'>): Work {
  const failed = new LRUCache<string, true>({ max: 1000, ttl: leftMillis });
  const analyzeGrown = async (signal: AbortSignal) => {
    const tried = new Set<string>();
    for (;;) {
      // Each time anew: another process may have done the same.
      const names = await listGrown(db);
      const table = names.find((name) => !tried.has(name) && !failed.has(name));
      if (table === undefined || signal.aborted) return;
      tried.add(table);
      await analyzeTable(db, table, signal).catch((err: unknown) => {
        failed.set(table, true);
        if (!signal.aborted) log.warn({ err, table }, 'a table that has grown was not analyzed');
      });
    }
  };
  return startLater(true, () =>
    repeat(analyzeGrown, {
      everyMillis: settings.waits.growthMillis,
      onError: (err) => log.warn({ err }, 'tables that have grown could not be looked for'),
    }),
  );
}

import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { Finding } from '../health/contract.ts';
import { examine, look, severityOf } from '../health/index.ts';
import type { CheckName, Severity } from '../health/values.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../platform/log.ts';
import { refuseOlder } from '../platform/postgres/baseline.ts';
import { readPostmaster } from '../platform/postgres/embedded-postmaster.ts';
import { listNewerMigrations, readJournal } from '../platform/postgres/migrate.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { refuseUnfit } from '../platform/postgres/probe.ts';
import { withClosers } from '../platform/work/stop.ts';
import { openColdTier } from './cold-tier.ts';
import { surroundingsOf } from './health.ts';

const connections = 4;
const answerMillis = 15_000;
const gigabyte = 1e9;
const day = 86_400_000;
/** So long the token of the first start may lie in the data folder before it is told. */
const tokenDays = 30;

/**
 * Checks what can be checked on this machine with these settings: the data folder, its disk, and the database by the
 * probe of a start. With `isAlone`, when no service answers, also what the service would check. It starts and changes
 * nothing.
 */
export async function examineHere(
  settings: Settings,
  { log, isAlone }: { log: Log; isAlone: boolean },
): Promise<Finding[]> {
  const ofFolder = [await lookAtFolder(settings.dataDir), await lookAtDisk(settings)];
  const { databaseUrl } = settings;
  if (databaseUrl === undefined) return [...ofFolder, await lookAtOwnPostgres(settings.dataDir)];
  return withClosers(log, async (closers) => {
    try {
      const db = openDatabase({
        ...{ url: databaseUrl, maxConnections: connections, answerMillis },
        onError: (error) => log.debug({ err: error }, 'a database connection broke'),
      });
      closers.push(() => db.close());
      await refuseUnfit(db);
      const found: Finding[] = [
        ...ofFolder,
        finding('database', 'ok', 'the database answers, and svcctl can work with it'),
      ];
      if (!isAlone) return found;
      refuseOlder(await readJournal(db));
      // It throws where the database has no tables of svcctl yet.
      await listNewerMigrations(db);
      const cold = await openColdTier(settings, { db, log }, closers);
      const around = surroundingsOf({ settings, db, cold });
      return [...found, ...(await examine(await look(db, { processId: null, around })))];
    } catch (error) {
      const detail = error instanceof AppError ? error.detail : String(error);
      const remedy =
        'See that the server runs and that DATABASE_URL is right; a start of the service tells the same.';
      return [...ofFolder, finding('database', 'problem', detail, remedy)];
    }
  });
}

/** Exported for its test. */
export async function lookAtFolder(dataDir: string, nowMillis = Date.now()): Promise<Finding> {
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return finding(
      'data_folder',
      'problem',
      `the data folder ${dataDir} cannot be read and written: ${String(error)}`,
      'The first start makes it. Else mend SVC_DATA_DIR, or give the folder to the user of the service.',
    );
  }
  for (const name of ['admin-token', 'secret-key']) {
    const found = await stat(join(dataDir, name)).catch(() => null);
    if (found === null || (found.mode & 0o077) === 0) continue;
    return finding(
      'data_folder',
      'warning',
      `others may read ${join(dataDir, name)}`,
      `chmod 600 ${join(dataDir, name)}`,
    );
  }
  const token = join(dataDir, 'admin-token');
  const made = await stat(token).catch(() => null);
  const days = Math.floor((nowMillis - (made?.mtimeMs ?? nowMillis)) / day);
  if (days > tokenDays) {
    return finding(
      'data_folder',
      'warning',
      `the token of the first start still lies in ${token} after ${days} days: whoever reads the file is an admin`,
      `Make one of your own, and sign in with it: svcctl tokens create --name NAME --preset admin, svcctl login. Then retire this one: svcctl tokens revoke ID (svcctl tokens ls has it as "first admin") && rm ${token}`,
    );
  }
  return finding('data_folder', 'ok', `the data folder ${dataDir} can be read and written`);
}

async function lookAtDisk({ dataDir, notifyDiskPercent }: Settings): Promise<Finding> {
  try {
    const { bavail, bsize, blocks } = await statfs(dataDir);
    const [free, total] = [bavail * bsize, blocks * bsize];
    const found = `the disk of the data folder has ${(free / gigabyte).toFixed(1)} of ${(total / gigabyte).toFixed(0)} GB left`;
    return 100 * free < notifyDiskPercent * total
      ? finding('own_disk', severityOf('disk_nearly_full'), found, 'Make room.')
      : finding('own_disk', 'ok', found);
  } catch (error) {
    return finding('own_disk', 'unchecked', `could not be checked: ${String(error)}`);
  }
}

/** The built-in PostgreSQL is not started for a look: it runs with the service. */
async function lookAtOwnPostgres(dataDir: string): Promise<Finding> {
  const postmaster = await readPostmaster(join(dataDir, 'postgres')).catch(() => undefined);
  return postmaster?.isReady
    ? finding('database', 'ok', `the built-in PostgreSQL runs (pid ${postmaster.pid})`)
    : finding(
        'database',
        'unchecked',
        'the built-in PostgreSQL does not run, and is not started for a look',
        'Start the service: svcctl serve.',
      );
}

function finding(
  check: CheckName,
  severity: Severity,
  found: string,
  remedy: string | null = null,
): Finding {
  return { check, severity, found, remedy };
}

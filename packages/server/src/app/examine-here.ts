import { existsSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding } from '../checks/contract.ts';
import { type Check, checks, examine, type Look, type Problem } from '../checks/index.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import { once } from '../kernel/once.ts';
import type { Log } from '../platform/log.ts';
import { refuseOlder } from '../platform/postgres/baseline.ts';
import { readPostmaster } from '../platform/postgres/embedded-postmaster.ts';
import { listNewerMigrations, readJournal } from '../platform/postgres/migrate.ts';
import { openDatabase } from '../platform/postgres/open-database.ts';
import { refuseUnfit } from '../platform/postgres/probe.ts';
import { findRestore } from '../platform/restore-mark.ts';
import { type Closers, withClosers } from '../platform/work/stop.ts';
import { isServed } from './announce.ts';
import { openColdTier } from './cold-tier.ts';
import { refuseOtherDatabase } from './database.ts';
import { lookClosely } from './look.ts';

const connections = 4;
const answerMillis = 15_000;
const gigabyte = 1e9;
const day = 86_400_000;
/** So long the token of the first start may lie in the data folder before it is told. */
const tokenDays = 30;

/** What there is on this machine. */
type Here = {
  readonly settings: Settings;
  /** Opens the database of DATABASE_URL. Throws where svcctl cannot work with it. Null: its checks are for another. */
  readonly open: () => Promise<Look | null>;
};

/** What can be checked on this machine with its settings. That starts and changes nothing. */
const checksHere: readonly Check<Here>[] = [
  {
    name: 'data_folder',
    severity: 'critical',
    look: ({ settings }) => lookAtFolder(settings),
    well: 'the data folder can be read and written',
    remedy:
      'The first start makes it. Else mend SVC_DATA_DIR, or give the folder to the user of the service.',
    command: () => 'svcctl config',
  },
  {
    name: 'own_disk',
    severity: 'critical',
    look: ({ settings }) => lookAtDisk(settings),
    well: 'the disk of the data folder has room',
    remedy: 'Make room on it: docs/operations.md, "When a disk is full".',
  },
  {
    name: 'database',
    severity: 'critical',
    async look({ settings, open }) {
      const restore = await findRestore(settings);
      if (restore !== null) return [{ ...restore, command: 'svcctl restore PLACE' }];
      try {
        await refuseOtherDatabase(settings);
        if (settings.databaseUrl === undefined) return await lookAtOwnPostgres(settings.dataDir);
        await open();
        return [];
      } catch (error) {
        return [{ text: error instanceof AppError ? error.detail : String(error) }];
      }
    },
    well: 'the database answers, and svcctl can work with it',
    remedy:
      'See that the server runs and that DATABASE_URL is right; a start of the service tells the same.',
    command: () => 'svcctl config',
  },
];

/** Makes these checks, and with `isAlone`, when no service answers, also those that the service would make. */
export async function examineHere(
  settings: Settings,
  { log, isAlone }: { log: Log; isAlone: boolean },
): Promise<Finding[]> {
  return withClosers(log, async (closers) => {
    const open = once(() => openHere(settings, { log, isAlone }, closers));
    const findings = await examine(checksHere, { settings, open });
    if (settings.databaseUrl === undefined) return findings;
    // Why it could not be opened is one of the findings.
    const look = await open().catch(() => null);
    return look === null ? findings : [...findings, ...(await examine(checks, look))];
  });
}

async function openHere(
  settings: Settings,
  { log, isAlone }: { log: Log; isAlone: boolean },
  closers: Closers,
): Promise<Look | null> {
  const db = openDatabase({
    url: settings.databaseUrl ?? '',
    maxConnections: connections,
    answerMillis,
    onError: (error) => log.debug({ err: error }, 'a database connection broke'),
  });
  closers.push(() => db.close());
  await refuseUnfit(db);
  if (!isAlone) return null;
  refuseOlder(await readJournal(db));
  // It throws where the database has no tables of svcctl yet.
  await listNewerMigrations(db);
  const cold = await openColdTier(settings, { db, log }, closers);
  return lookClosely({ settings, db, cold }, null);
}

/** Exported for its test. */
export async function lookAtFolder(
  {
    dataDir,
    databaseUrl,
    secretKey,
  }: Pick<Settings, 'dataDir'> & Partial<Pick<Settings, 'databaseUrl' | 'secretKey'>>,
  nowMillis = Date.now(),
): Promise<Problem[]> {
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [{ text: `the data folder ${dataDir} cannot be read and written: ${String(error)}` }];
  }
  // With DATABASE_URL the check of processes compares the key with the database.
  const isBegun = databaseUrl === undefined && existsSync(join(dataDir, 'postgres', 'PG_VERSION'));
  // A restore writes the key last.
  const isRestored = (await findRestore({ dataDir, databaseUrl })) === null;
  if (
    isBegun &&
    isRestored &&
    secretKey === undefined &&
    !existsSync(join(dataDir, 'secret-key'))
  ) {
    return [
      {
        text: `${join(dataDir, 'secret-key')} is missing, the key that webhook secrets in the database of this folder are encrypted with`,
        remedy:
          'Put the file back, or set SVC_SECRET_KEY to that key. Only if it is lost for good, take another one.',
        command: 'svcctl keys rotate --lost',
      },
    ];
  }
  for (const name of ['admin-token', 'secret-key']) {
    const path = join(dataDir, name);
    const found = await stat(path).catch(() => null);
    if (found === null || (found.mode & 0o077) === 0) continue;
    return [
      {
        text: `others may read ${path}`,
        severity: 'warning',
        remedy: 'Take the file away from them.',
        command: `chmod 600 ${path}`,
      },
    ];
  }
  const token = join(dataDir, 'admin-token');
  const made = await stat(token).catch(() => null);
  const days = Math.floor((nowMillis - (made?.mtimeMs ?? nowMillis)) / day);
  if (days <= tokenDays) {
    return [{ text: `the data folder ${dataDir} can be read and written`, severity: 'ok' }];
  }
  return [
    {
      text: `the token of the first start still lies in ${token} after ${days} days: whoever reads the file is an admin`,
      severity: 'warning',
      remedy:
        'Make one of your own, and sign in with it: svcctl tokens create --name NAME --preset admin, svcctl login. Then retire this one, which svcctl tokens ls has as "first admin".',
      command: `svcctl tokens revoke ID && rm ${token}`,
    },
  ];
}

async function lookAtDisk({ dataDir, notifyDiskPercent }: Settings): Promise<Problem[]> {
  const { bavail, bsize, blocks } = await statfs(dataDir);
  const [free, total] = [bavail * bsize, blocks * bsize];
  const text = `the disk of the data folder has ${(free / gigabyte).toFixed(1)} of ${(total / gigabyte).toFixed(1)} GB left`;
  return [{ text, severity: 100 * free < notifyDiskPercent * total ? 'critical' : 'ok' }];
}

/** The built-in PostgreSQL is not started for a look: it runs with the service. */
async function lookAtOwnPostgres(dataDir: string): Promise<Problem[]> {
  const postmaster = await readPostmaster(join(dataDir, 'postgres')).catch(() => undefined);
  if (postmaster?.isReady) {
    return [{ text: `the built-in PostgreSQL runs (pid ${postmaster.pid})`, severity: 'ok' }];
  }
  if (await isServed(dataDir)) {
    return [
      {
        text: 'the built-in PostgreSQL does not run, though the service does',
        remedy: `The service tries to start it again all the time, and goes on by itself. What keeps it is told at the end of ${join(dataDir, 'postgres.log')}: a full disk, perhaps.`,
        command: 'svcctl doctor --local --all',
      },
    ];
  }
  return [
    {
      text: 'the built-in PostgreSQL does not run, and is not started for a look',
      severity: 'unchecked',
      remedy: 'Start the service.',
      command: 'svcctl serve',
    },
  ];
}

import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isCode } from './embedded-binaries.ts';
import { describe, type ProgramUser, runProgram } from './embedded-user.ts';

const initdbTimeoutMs = 120_000;
const passwordName = 'svcctl-password';
/** Unfinished clusters; anything under such a name is garbage once `postgres` exists. */
const unfinishedPrefix = 'postgres.new';

/**
 * Makes `<dataDir>/postgres` unless it exists, and returns its password.
 *
 * Everything is prepared beside it and renamed in one step, so a crash leaves garbage but never half
 * a cluster. Of two processes doing this at once the second rename fails (the target is not empty):
 * that process drops its own cluster and uses the other. The password lies inside the cluster for
 * the same reason: it cannot belong to the loser's.
 */
export async function prepareCluster(options: {
  dataDir: string;
  initdb: string;
  user: ProgramUser;
  fsync: boolean;
  signal?: AbortSignal | undefined;
}): Promise<string> {
  const clusterDir = path.join(options.dataDir, 'postgres');
  if (!(await isCluster(clusterDir))) {
    try {
      await createCluster(clusterDir, options);
    } catch (cause) {
      options.signal?.throwIfAborted();
      if (!(await isCluster(clusterDir))) {
        throw new Error(
          `A PostgreSQL cluster could not be created in ${clusterDir}: ${describe(cause)}. Check that ` +
            'the directory is empty or absent, has space and is writable for the user PostgreSQL runs as ' +
            `(uid ${options.user.owner?.uid ?? process.getuid?.()}), or set DATABASE_URL.`,
          { cause },
        );
      }
    }
  }
  return readPassword(clusterDir);
}

/** Removes what crashed or overtaken processes left. Failing is harmless: the next start tries again. */
export async function removeUnfinishedClusters(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  for (const name of names.filter((entry) => entry.startsWith(unfinishedPrefix))) {
    await rm(path.join(dataDir, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

async function createCluster(
  clusterDir: string,
  options: Parameters<typeof prepareCluster>[0],
): Promise<void> {
  const { dataDir, user } = options;
  const workDir = await mkdtemp(path.join(dataDir, `${unfinishedPrefix}-`));
  try {
    const newDir = path.join(workDir, 'cluster');
    const passwordFile = path.join(workDir, passwordName);
    await writeDurably(passwordFile, randomBytes(24).toString('base64url'));
    if (user.owner !== undefined) {
      await chown(passwordFile, user.owner.uid, user.owner.gid);
      await chown(workDir, user.owner.uid, user.owner.gid);
    }
    const flags = ['-A', 'scram-sha-256', '-E', 'UTF8', '--locale-provider=libc', '--locale=C'];
    if (!options.fsync) flags.push('--no-sync');
    await runProgram(
      user,
      [options.initdb, '-D', newDir, '-U', 'svcctl', `--pwfile=${passwordFile}`, ...flags],
      { timeoutMs: initdbTimeoutMs, signal: options.signal },
    );
    await rename(passwordFile, path.join(newDir, passwordName));
    if (options.fsync) await syncDirectory(newDir);
    await rename(newDir, clusterDir);
    if (options.fsync) await syncDirectory(dataDir);
  } finally {
    await rm(workDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function isCluster(clusterDir: string): Promise<boolean> {
  try {
    await stat(path.join(clusterDir, 'PG_VERSION'));
    return true;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    throw unreadable(clusterDir, error);
  }
}

async function readPassword(clusterDir: string): Promise<string> {
  try {
    return (await readFile(path.join(clusterDir, passwordName), 'utf8')).trim();
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw unreadable(clusterDir, error);
    throw new Error(
      `${clusterDir} is a PostgreSQL cluster that svcctl did not create: it has no ${passwordName}. ` +
        'Start that cluster yourself and set DATABASE_URL, or choose another data directory.',
      { cause: error },
    );
  }
}

function unreadable(clusterDir: string, cause: unknown): Error {
  return new Error(
    `${clusterDir} cannot be read (${describe(cause)}). Run svcctl as the user who owns it, or ` +
      'choose another data directory.',
    { cause },
  );
}

async function writeDurably(file: string, content: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

import { randomBytes } from 'node:crypto';
import {
  chown,
  lchown,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../sync-folder.ts';
import { exists, isCode, unusable } from './embedded-binaries.ts';
import { describe, type Owner, type ProgramUser, runProgram } from './embedded-user.ts';

const initdbTimeoutMillis = 120_000;
/** For files that only their owner reads, and that are on the disk once they are written. */
const newFile = { flag: 'wx', mode: 0o600, flush: true };
const passwordName = 'svcctl-password';
/** The prefix of unfinished clusters. Whatever has such a name may be deleted once `postgres` exists. */
const unfinishedPrefix = 'postgres.new';
/** This file lies beside the cluster while the owner of its files is being changed. */
const changingOwnerName = 'postgres.changing-owner';

/**
 * Makes `<dataDir>/postgres` unless it exists, and returns its password.
 *
 * Everything is prepared beside it and renamed in one step, so a crash may leave unused files but never half a cluster.
 * If two processes do this at the same time, the second rename fails because the target is not empty; that process
 * deletes its own cluster and uses the other one. The password lies inside the cluster for the same reason: so it
 * cannot be the password of the deleted cluster.
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
        throw unusable(
          `A PostgreSQL cluster could not be created in ${clusterDir}: ${describe(cause)}. Check that ` +
            'the directory is empty or absent, has space and is writable for the user PostgreSQL runs as ' +
            `(uid ${options.user.owner?.uid ?? process.getuid?.()}), or set DATABASE_URL.`,
          cause,
        );
      }
    }
  }
  return readPassword(clusterDir);
}

/**
 * Gives every file of a cluster to the user who is about to run it, because PostgreSQL insists on owning its files.
 * Call it only while no server runs on the cluster. If it is killed halfway, the mark stays, and the next start,
 * whichever user runs it, goes through all files again.
 */
export async function giveCluster(clusterDir: string, owner: Owner): Promise<void> {
  const dataDir = path.dirname(clusterDir);
  const mark = path.join(dataDir, changingOwnerName);
  const { uid } = await stat(clusterDir);
  if (uid === owner.uid && !(await exists(mark))) return;
  try {
    await writeFile(mark, '', newFile).catch(unless('EEXIST'));
    await syncFolder(dataDir);
    await giveTree(await realpath(clusterDir), owner);
    await rm(mark, { force: true });
  } catch (cause) {
    throw unusable(
      `The PostgreSQL cluster in ${clusterDir} belongs to uid ${uid}, has to belong to uid ${owner.uid} ` +
        `here, and cannot be given to it: ${describe(cause)}. Run svcctl as the user it belongs to, ` +
        'or change the owner of that folder and all in it yourself.',
      cause,
    );
  }
}

/**
 * Changes the owner of a folder after everything in it: until then only the old owner may change the folder. Links
 * themselves change their owner and are never followed, because they may lead to anybody's files. Files may vanish
 * meanwhile: another process that starts may be ahead, and its server may already be at work.
 */
async function giveTree(dir: string, owner: Owner): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(unless('ENOENT'));
  for (const entry of entries ?? []) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) await giveTree(file, owner);
    else await lchown(file, owner.uid, owner.gid).catch(unless('ENOENT'));
  }
  await lchown(dir, owner.uid, owner.gid).catch(unless('ENOENT'));
}

/** Removes what processes left that crashed or came second. If this fails, the next start tries again. */
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
    await writeFile(passwordFile, randomBytes(24).toString('base64url'), newFile);
    if (user.owner !== undefined) {
      await chown(passwordFile, user.owner.uid, user.owner.gid);
      await chown(workDir, user.owner.uid, user.owner.gid);
    }
    const flags = ['-A', 'scram-sha-256', '-E', 'UTF8', '--locale-provider=libc', '--locale=C'];
    if (!options.fsync) flags.push('--no-sync');
    await runProgram(
      user,
      [options.initdb, '-D', newDir, '-U', 'svcctl', `--pwfile=${passwordFile}`, ...flags],
      { timeoutMillis: initdbTimeoutMillis, signal: options.signal },
    );
    await rename(passwordFile, path.join(newDir, passwordName));
    if (options.fsync) await syncFolder(newDir);
    await rename(newDir, clusterDir);
    if (options.fsync) await syncFolder(dataDir);
  } finally {
    await rm(workDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** For use in `catch`: turns an error with this code into undefined and throws any other. */
function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!isCode(error, code)) throw error;
  };
}

async function isCluster(clusterDir: string): Promise<boolean> {
  try {
    return await exists(path.join(clusterDir, 'PG_VERSION'));
  } catch (error) {
    throw unreadable(clusterDir, error);
  }
}

async function readPassword(clusterDir: string): Promise<string> {
  try {
    return (await readFile(path.join(clusterDir, passwordName), 'utf8')).trim();
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw unreadable(clusterDir, error);
    throw unusable(
      `${clusterDir} is a PostgreSQL cluster that svcctl did not create: it has no ${passwordName}. ` +
        'Start that cluster yourself and set DATABASE_URL, or choose another data directory.',
      error,
    );
  }
}

function unreadable(clusterDir: string, cause: unknown): Error {
  return unusable(
    `${clusterDir} cannot be read (${describe(cause)}). Run svcctl as the user who owns it, or ` +
      'choose another data directory.',
    cause,
  );
}

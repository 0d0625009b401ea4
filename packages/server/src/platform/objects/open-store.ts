import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRunning } from '../is-running.ts';
import { makeFolders } from '../make-folders.ts';
import { createFileStore } from './file-system.ts';
import type { ObjectStore } from './objects.ts';
import { createS3Store } from './s3.ts';
import { invalidBlobUrl } from './s3-url.ts';

/** The folder that is the store of SVC_BLOB_URL; null when it is not a folder. */
export function folderOfStore(blobUrl: string | undefined, dataDir: string): string | null {
  if (blobUrl === undefined) return join(dataDir, 'cold');
  return /^file:/i.test(blobUrl) ? folderOf(blobUrl) : null;
}

/**
 * Opens the store that SVC_BLOB_URL names: `file:///folder`, `s3://bucket/prefix?endpoint=…&region=…`, or the folder
 * `cold` below the data folder when the setting is unset. Throws `settings_invalid`.
 */
export async function openObjectStore(
  blobUrl: string | undefined,
  dataDir: string,
): Promise<ObjectStore> {
  if (blobUrl === undefined) return createFileStore(join(dataDir, 'cold'));
  const scheme = /^([a-z0-9]+):\/\//i.exec(blobUrl)?.[1]?.toLowerCase();
  if (scheme === 's3') return await createS3Store(blobUrl);
  if (scheme === 'file') return createFileStore(folderOf(blobUrl));
  throw invalidBlobUrl('does not begin with file:/// or s3://');
}

function folderOf(blobUrl: string): string {
  const url = URL.canParse(blobUrl) ? new URL(blobUrl) : null;
  if (url === null) throw invalidBlobUrl('is not a URL');
  if (url.search !== '' || url.hash !== '') {
    throw invalidBlobUrl('has ? or # behind its folder: write them as %3F and %23');
  }
  // Nobody means the root of the machine, but `file://` alone would be read as it.
  if (url.host !== '' || url.pathname === '/') {
    throw invalidBlobUrl('names no folder: it is file:///folder, with three slashes');
  }
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw invalidBlobUrl('names no folder: it is file:///folder, with three slashes', error);
  }
}

/** Makes a folder for one process below `parent`, and removes those of processes that are gone. */
export async function makeSpoolDir(parent: string): Promise<string> {
  await makeFolders(parent, 0o700);
  for (const name of await readdir(parent)) {
    const dir = join(parent, name);
    if (await isLeftOver(dir, Number.parseInt(name, 10))) {
      await rm(dir, { recursive: true, force: true });
    }
  }
  return mkdtemp(join(parent, `${process.pid}-`));
}

async function isLeftOver(dir: string, pid: number): Promise<boolean> {
  if (Number.isNaN(pid)) return false;
  if (pid !== process.pid) return !isRunning(pid);
  // In a container the next process often has the same number as the one before, so the age of the folder decides.
  const startedAt = Date.now() - process.uptime() * 1000;
  const made = await stat(dir).catch(() => null);
  return made !== null && made.birthtimeMs < startedAt;
}

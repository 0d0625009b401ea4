import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, mkdir, open, opendir, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createFileMarker, tryFileSystem } from './file-marker.ts';
import { assertObjectKey, markerName, temporaryFolder } from './object-key.ts';
import { type ObjectInfo, ObjectMissing, type ObjectStore } from './objects.ts';
import { fromFileSystem, systemCode } from './store-errors.ts';

const chunkBytes = 1024 * 1024;
const leftoverMillis = 24 * 3_600_000;

export type FileStoreOptions = { readonly now?: () => number };

/**
 * Objects as files below a folder, which is made when the first object comes. An object appears under
 * its name by a rename, when the file and every folder above it are on the disk. What a killed process
 * left half written lies below `.tmp` and is removed by a listing a day later.
 */
export function createFileStore(
  rootDir: string,
  { now = Date.now }: FileStoreOptions = {},
): ObjectStore {
  const root = resolve(rootDir);
  const temporary = join(root, temporaryFolder);

  const pathOf = (key: string) => {
    assertObjectKey(key);
    return join(root, key);
  };

  return {
    location: root,
    async put(key, path, signal, { mayTake = false } = {}) {
      const target = pathOf(key);
      const half = join(temporary, `${process.pid}-${randomUUID()}`);
      signal?.throwIfAborted();
      try {
        await makeFolder(temporary);
        if (!mayTake || !(await linkDurably(path, half))) await copyDurably(path, half, signal);
        await makeFolder(dirname(target));
        signal?.throwIfAborted();
        await rename(half, target);
        await syncFolders(dirname(target), root);
      } catch (error) {
        await rm(half, { force: true }).catch(() => {});
        signal?.throwIfAborted();
        throw fromFileSystem(error, `The object ${key} cannot be written below ${root}`);
      }
    },
    async get(key, path, signal) {
      const source = pathOf(key);
      const what = `The object ${key} cannot be read from ${root}`;
      signal?.throwIfAborted();
      const file = await open(source, 'r').catch((error: unknown) => {
        throw isMissing(error) ? new ObjectMissing(key) : fromFileSystem(error, what);
      });
      try {
        const from = file.createReadStream({ highWaterMark: chunkBytes });
        await pipeline(from, createWriteStream(path), signal === undefined ? {} : { signal });
      } catch (error) {
        await rm(path, { force: true }).catch(() => {});
        signal?.throwIfAborted();
        // A folder can be opened, and not be read.
        throw isMissing(error) ? new ObjectMissing(key) : fromFileSystem(error, what);
      } finally {
        await file.close();
      }
    },
    async head(key, signal) {
      signal?.throwIfAborted();
      try {
        const found = await stat(pathOf(key));
        return found.isFile() ? { key, sizeBytes: found.size } : null;
      } catch (error) {
        if (isMissing(error)) return null;
        throw fromFileSystem(error, `The object ${key} cannot be read from ${root}`);
      }
    },
    async *list(prefix, signal) {
      try {
        await removeLeftovers(temporary, now() - leftoverMillis);
        yield* filesBelow(root, { root, prefix, signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw fromFileSystem(error, `The objects below ${root} cannot be listed`);
      }
    },
    // Halves lie in the temporary folder under names of their own: a listing removes old ones.
    async *listUploads() {},
    async endUpload() {},
    async remove(key, signal) {
      const path = pathOf(key);
      signal?.throwIfAborted();
      try {
        await unlink(path);
        await syncFolder(dirname(path));
      } catch (error) {
        if (isMissing(error)) return;
        throw fromFileSystem(error, `The object ${key} cannot be removed from ${root}`);
      }
    },
    marker: createFileMarker(root),
    async tryWrite(signal) {
      signal?.throwIfAborted();
      await tryFileSystem(root);
    },
    pathOf,
    async close() {},
  };
}

/** Chunk by chunk, so that it can be aborted; on the disk when it returns. */
async function copyDurably(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await pipeline(
    createReadStream(from, { highWaterMark: chunkBytes }),
    createWriteStream(to, { flags: 'wx', flush: true }),
    signal === undefined ? {} : { signal },
  );
}

/** False where the file lies on another file system, or links cannot be made. */
async function linkDurably(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    if (isMissing(error)) throw error;
    return false;
  }
  const file = await open(to, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  return true;
}

/** With the names of the folders that it makes on the disk. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first !== undefined) await syncFolders(path, dirname(first));
}

/**
 * Every folder from one up to another above it: which of them another put made a moment ago, and has
 * not brought to the disk yet, cannot be seen.
 */
async function syncFolders(from: string, upTo: string): Promise<void> {
  await syncFolder(from);
  if (from !== upTo && dirname(from) !== from) await syncFolders(dirname(from), upTo);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

type Walk = { root: string; prefix: string; signal: AbortSignal | undefined };

/** One open folder per level; what is removed while it walks is left out. */
async function* filesBelow(folder: string, walk: Walk): AsyncGenerator<ObjectInfo> {
  const { root, prefix, signal } = walk;
  const entries = await unlessGone(opendir(folder));
  if (entries === null) return;
  for await (const entry of entries) {
    signal?.throwIfAborted();
    const path = join(folder, entry.name);
    const key = relative(root, path).split(sep).join('/');
    if (entry.isDirectory()) {
      const mayHold = `${key}/`.startsWith(prefix) || prefix.startsWith(`${key}/`);
      if (mayHold && key !== temporaryFolder && key !== markerName) yield* filesBelow(path, walk);
    } else if (entry.isFile() && key.startsWith(prefix)) {
      const found = await unlessGone(stat(path));
      if (found !== null) yield { key, sizeBytes: found.size };
    }
  }
}

/** Files only, and only those that nobody has written to for so long. */
async function removeLeftovers(temporary: string, before: number): Promise<void> {
  const entries = await unlessGone(opendir(temporary));
  if (entries === null) return;
  for await (const entry of entries) {
    const path = join(temporary, entry.name);
    const found = entry.isFile() ? await unlessGone(stat(path)) : null;
    if (found !== null && found.mtimeMs < before) await unlessGone(unlink(path));
  }
}

async function unlessGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** There is nothing, or a folder, or an object where a folder would have to be. */
function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(systemCode(error) ?? '');
}

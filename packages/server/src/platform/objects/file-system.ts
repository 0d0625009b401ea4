import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import {
  type FileHandle,
  link,
  open,
  opendir,
  readdir,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeFolders } from '../make-folders.ts';
import { syncFolder } from '../sync-folder.ts';
import {
  assertObjectKey,
  type ByteSink,
  fromFileSystem,
  markerName,
  ObjectDamaged,
  type ObjectInfo,
  ObjectMissing,
  type ObjectStore,
  type StoreMarker,
  storeUnavailable,
  systemCode,
  temporaryFolder,
} from './objects.ts';

const chunkBytes = 1024 * 1024;

/** What is stored is for the user of the service alone: records, exports, and in backups the tables. */
const ownModes = { file: 0o600, folder: 0o700 };
const sharedModes = { file: 0o644, folder: 0o755 };
const { file: fileMode, folder: folderMode } = ownModes;
const leftoverMillis = 24 * 3_600_000;

type FileStoreOptions = {
  readonly now?: () => number;
  /** Whether others may read what is stored, as far as the umask lets them; otherwise only the user of the service. */
  readonly isShared?: boolean;
};

/**
 * Keeps objects as files below a folder, which is made when the first object comes. An object gets its name by a
 * rename. `put` returns once the file and every folder above it are on the disk. What a killed process has left half
 * written lies below `.tmp`, and the first listing a day later removes it.
 */
export function createFileStore(
  rootDir: string,
  { now = Date.now, isShared = false }: FileStoreOptions = {},
): ObjectStore {
  const root = resolve(rootDir);
  const temporary = join(root, temporaryFolder);
  const modes = isShared ? sharedModes : ownModes;

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
        await makeFolder(temporary, modes.folder);
        const isTaken = mayTake && (await linkDurably(path, half, modes.file));
        if (!isTaken) await copyDurably({ from: path, to: half, mode: modes.file }, signal);
        await makeFolder(dirname(target), modes.folder);
        signal?.throwIfAborted();
        await rename(half, target);
        await syncFolders(dirname(target), root);
      } catch (error) {
        await rm(half, { force: true }).catch(() => {});
        signal?.throwIfAborted();
        throw fromFileSystem(error, `The object ${key} cannot be written below ${root}`);
      }
    },
    async get(key, target, signal, stretch) {
      const source = pathOf(key);
      const what = `The object ${key} cannot be read from ${root}`;
      signal?.throwIfAborted();
      const file = await open(source, 'r').catch((error: unknown) => {
        throw isMissing(error) ? new ObjectMissing(key) : fromFileSystem(error, what);
      });
      try {
        if (stretch !== undefined) await assertSize(file, key, stretch.sizeBytes);
        const range = stretch && { start: stretch.start, end: stretch.end - 1 };
        const from = file.createReadStream({ highWaterMark: chunkBytes, ...range });
        const options = signal === undefined ? {} : { signal };
        if (typeof target === 'string') await pipeline(from, createWriteStream(target), options);
        else await pipeline(from, (chunks) => drain(chunks, target), options);
      } catch (error) {
        if (typeof target === 'string') await rm(target, { force: true }).catch(() => {});
        signal?.throwIfAborted();
        // A folder can be opened but not read; that also means there is no such object.
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
        yield* filesBelow(folderOf(root, prefix), { root, prefix, signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw fromFileSystem(error, `The objects below ${root} cannot be listed`);
      }
    },
    // Files that are half written lie in the temporary folder under names of their own, and a listing removes old ones,
    // so there are no uploads to list or to end.
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

async function drain(chunks: AsyncIterable<Buffer>, sink: ByteSink): Promise<void> {
  sink.begin();
  for await (const chunk of chunks) await sink.write(chunk);
}

async function assertSize(file: FileHandle, key: string, sizeBytes: number): Promise<void> {
  const { size } = await file.stat();
  if (size !== sizeBytes) throw new ObjectDamaged(key, `has ${size} bytes instead of ${sizeBytes}`);
}

/** Copies chunk by chunk, so that the copy can be aborted. The content is on the disk when it returns. */
async function copyDurably(
  { from, to, mode }: { from: string; to: string; mode: number },
  signal?: AbortSignal,
): Promise<void> {
  await pipeline(
    createReadStream(from, { highWaterMark: chunkBytes }),
    createWriteStream(to, { flags: 'wx', mode, flush: true }),
    signal === undefined ? {} : { signal },
  );
}

/** Makes the file itself the object, without a copy. Returns false on another file system, or where links fail. */
async function linkDurably(from: string, to: string, mode: number): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    if (isMissing(error)) throw error;
    return false;
  }
  const file = await open(to, 'r');
  try {
    // Whoever wrote it may have let others read it.
    await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
  return true;
}

/** Makes a folder and those above it, and brings the names of the new folders to the disk. */
async function makeFolder(path: string, mode: number): Promise<void> {
  const first = await makeFolders(path, mode);
  if (first !== undefined) await syncFolders(path, dirname(first));
}

/** Syncs every folder from `from` up to `upTo`: another `put` may have made any of them a moment ago. */
async function syncFolders(from: string, upTo: string): Promise<void> {
  await syncFolder(from);
  if (from !== upTo && dirname(from) !== from) await syncFolders(dirname(from), upTo);
}

type Walk = { root: string; prefix: string; signal: AbortSignal | undefined };

/** The deepest folder below which all objects with this prefix lie. */
function folderOf(root: string, prefix: string): string {
  const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  try {
    assertObjectKey(`${folder}a`);
  } catch {
    return root;
  }
  return join(root, folder);
}

/** So many names of a folder are held at once. */
const namesAtOnce = 1024;

/** Walks the tree with one open folder for each level. What is removed during the walk is left out. */
async function* filesBelow(folder: string, walk: Walk): AsyncGenerator<ObjectInfo> {
  const { root, prefix, signal } = walk;
  const entries = await unlessGone(opendir(folder, { bufferSize: namesAtOnce }));
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
      if (found !== null) yield { key, sizeBytes: found.size, writtenAt: found.mtimeMs };
    }
  }
}

/** Removes only files, and only those that nobody has written to since `before` (milliseconds since 1970). */
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
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Whether there is no such object: nothing, a folder in its place, or an object in place of its folder. */
function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(systemCode(error) ?? '');
}

const note = `This file's name says which database this store of cold data goes on with. Every database
that was ever used with the store knows some name; who knows this one may write here.
Leave it: see "Copies of a database" in docs/operations/cold-data.md.
`;

/** While a name changes, a look at the folder may see no name or two names, so it is repeated. */
const looks = 10;

/**
 * The marker of a store of files is the name of the only file in a folder of its own. A rename changes it to the next
 * name: of many processes that try at the same time exactly one finds the old file, whichever process is killed when.
 * The first name comes together with its folder: a folder can be renamed only to a place that is free or an empty
 * folder.
 */
function createFileMarker(root: string): StoreMarker {
  const folder = join(root, markerName);
  const pathOf = (text: string) => join(folder, text);

  async function first(text: string): Promise<boolean> {
    const made = join(root, temporaryFolder, `marker-${randomUUID()}`);
    await makeFolders(made, folderMode);
    await writeFile(join(made, text), note, { mode: fileMode, flush: true });
    try {
      await rename(made, folder);
    } catch (error) {
      await rm(made, { recursive: true, force: true });
      if (!['ENOTEMPTY', 'EEXIST'].includes(systemCode(error) ?? '')) throw error;
      return false;
    }
    await syncFolder(folder);
    await syncFolder(root);
    return true;
  }

  async function next(expected: string, text: string): Promise<boolean> {
    try {
      await rename(pathOf(expected), pathOf(text));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      // NFS repeats a request whose answer was lost. In that case the first rename of this very call has moved the file
      // away, and the new name is there.
      return (await stat(pathOf(text)).catch(() => null)) !== null;
    }
    await syncFolder(folder);
    return true;
  }

  return {
    async read(signal) {
      signal?.throwIfAborted();
      let names: string[] = [];
      for (let look = 0; look < looks; look += 1) {
        names = await readdir(folder).catch((error: unknown) => {
          if (systemCode(error) === 'ENOENT') return [];
          throw fromFileSystem(error, `The marker of ${root} cannot be read`);
        });
        // Files whose names begin with a dot were left by NFS or by desktop programs.
        names = names.filter((name) => !name.startsWith('.'));
        if (names.length === 1) break;
      }
      if (names.length <= 1) return names[0] ?? null;
      throw storeUnavailable(`The marker of ${root} cannot be read`, `${folder} holds several`, {
        advice: 'Another store was copied over this one: keep the file of the one to go on with.',
      });
    },
    async swap(expected, text, signal) {
      signal?.throwIfAborted();
      try {
        return await (expected === null ? first(text) : next(expected, text));
      } catch (error) {
        throw fromFileSystem(error, `The marker of ${root} cannot be written`);
      }
    },
  };
}

/** Tries whether something can be written and renamed. What a kill leaves, a listing removes a day later. */
async function tryFileSystem(root: string): Promise<void> {
  const path = join(root, temporaryFolder, `try-${randomUUID()}`);
  try {
    await makeFolders(join(root, temporaryFolder), folderMode);
    await writeFile(path, '', { mode: fileMode });
    await rename(path, `${path}-`);
    await rm(`${path}-`);
  } catch (error) {
    throw fromFileSystem(error, `Nothing can be written below ${root}`);
  }
}

import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import { createFileStore } from '../platform/objects/file-system.ts';
import {
  type ByteSink,
  fromFileSystem,
  isObjectFault,
  ObjectMissing,
  type ObjectStore,
  temporaryFolder,
} from '../platform/objects/objects.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import {
  type BackupName,
  type Manifest,
  manifestKey,
  manifestText,
  parseManifest,
} from './manifest.ts';

/** Where backups lie: a folder, or a bucket and a prefix. It is a store of objects whose errors speak of a place. */
export type Place = ObjectStore;

/**
 * Opens a place by what was given for it: a folder, `file:///folder` or `s3://bucket/prefix?endpoint=…`. Throws
 * `usage_invalid`.
 */
export async function openPlace(text: string, cwd: string): Promise<Place> {
  if (!/^[a-z0-9]+:\/\//i.test(text)) return speakOfPlace(createFileStore(resolve(cwd, text)));
  try {
    return speakOfPlace(await openObjectStore(text, cwd));
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'settings_invalid') throw error;
    const detail = error.detail.replace('SVC_BLOB_URL', 'The place of backups');
    throw new AppError('usage_invalid', { detail, cause: error });
  }
}

/** Returns the same store, but what it says of a store of cold data it says of a place of backups. */
function speakOfPlace(store: ObjectStore): Place {
  const speak = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw toPlaceError(error);
    }
  };
  const { copyFrom } = store;
  return {
    ...store,
    ...(copyFrom && { copyFrom: (...given) => speak(copyFrom(...given)) }),
    put: (...given) => speak(store.put(...given)),
    get: (...given) => speak(store.get(...given)),
    head: (...given) => speak(store.head(...given)),
    remove: (...given) => speak(store.remove(...given)),
    async *list(...given) {
      try {
        yield* store.list(...given);
      } catch (error) {
        throw toPlaceError(error);
      }
    },
  };
}

/** Makes an error of the place out of one of a store. Any other is returned as it came. */
export function toPlaceError(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'cold_tier_unavailable') return error;
  const detail = error.detail.replace(
    ', or point SVC_BLOB_URL to a larger store',
    ', or choose a larger place',
  );
  return new AppError('backup_place_unavailable', { detail, cause: error });
}

/** The ids of the whole backups in a place, the oldest first. */
export async function listBackups(place: Place, signal: AbortSignal): Promise<BackupName[]> {
  const names: BackupName[] = [];
  for await (const { key } of place.list('backups/', signal)) {
    const [, database = null, id] =
      /^backups\/(?:([^/]+)\/)?([^/]+)\/manifest\.json$/.exec(key) ?? [];
    if (id !== undefined) names.push({ id, database });
  }
  // Ids begin with the time.
  return names.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Those of one database, the oldest first. */
export async function listOwnBackups(
  place: Place,
  database: string,
  signal: AbortSignal,
): Promise<BackupName[]> {
  return (await listBackups(place, signal)).filter((each) => each.database === database);
}

/** Which backup is asked for: the newest, unless more is said. */
export type BackupChoice = {
  readonly id?: string | undefined;
  readonly database?: string | undefined;
};

/**
 * Finds the backup that is asked for. Throws `backup_not_found`, and `usage_invalid` where the newest is asked for and
 * there are several databases.
 */
export async function findBackup(
  place: Place,
  { id, database }: BackupChoice,
  signal: AbortSignal,
): Promise<BackupName> {
  const found = (await listBackups(place, signal)).filter(
    (each) => (id ?? each.id) === each.id && (database ?? each.database) === each.database,
  );
  const last = found.at(-1);
  if (last === undefined) {
    const which = `${id === undefined ? '' : ` ${id}`}${database === undefined ? '' : ` of ${database}`}`;
    const advice =
      which === ''
        ? 'Give the place that svcctl backup --out was given.'
        : 'svcctl backup ls lists those that are there.';
    throw new AppError('backup_not_found', {
      detail: `${place.location} holds no whole backup${which}. ${advice}`,
    });
  }
  const databases = new Set(found.map((each) => each.database ?? 'unknown'));
  if (databases.size === 1) return last;
  throw new AppError('usage_invalid', {
    detail: `${place.location} holds backups of several databases: ${[...databases].join(', ')}. Say which by --database or --id; svcctl backup ls lists them.`,
  });
}

/** Reads the manifest of a backup. Throws `backup_not_found`, `backup_damaged`, `backup_newer`. */
export async function readManifest(
  place: Place,
  name: BackupName,
  signal: AbortSignal,
): Promise<Manifest> {
  const key = manifestKey(name);
  const bytes = await readAll(place, key, signal).catch((error: unknown) => {
    if (!(error instanceof ObjectMissing)) throw error;
    throw new AppError('backup_not_found', {
      detail: `${place.location} holds no whole backup ${name.id}. svcctl backup ls lists those that are there.`,
      cause: error,
    });
  });
  return parseManifest(bytes.toString(), `${place.location}/${key}`);
}

async function readAll(place: Place, key: string, signal: AbortSignal): Promise<Buffer> {
  let chunks: Buffer[] = [];
  const sink: ByteSink = {
    begin() {
      chunks = [];
    },
    write(bytes) {
      chunks.push(Buffer.from(bytes));
    },
  };
  await place.get(key, sink, signal);
  return Buffer.concat(chunks);
}

/** Writes the manifest, and reads it back: from then on there is a backup. */
export async function putManifest(
  place: Place,
  manifest: Manifest,
  { spoolDir, signal }: { spoolDir: string; signal: AbortSignal },
): Promise<void> {
  const path = join(spoolDir, `manifest-${manifest.id}`);
  try {
    await writeFile(path, manifestText(manifest), { mode: 0o600 }).catch((error: unknown) => {
      throw toPlaceError(fromFileSystem(error, `The manifest cannot be written to ${spoolDir}`));
    });
    await place.put(manifestKey(manifest), path, signal);
    await readManifest(place, manifest, signal);
  } finally {
    await rm(path, { force: true });
  }
}

/** Makes the folder of a place in which files are written before they lie in it, where the place is a folder. */
export async function makePlaceFolder(place: Place): Promise<string | null> {
  if (place.pathOf('any') === null) return null;
  const path = join(place.location, temporaryFolder);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  } catch (error) {
    throw toPlaceError(fromFileSystem(error, `The folder ${place.location} cannot be made`));
  }
}

/** Reads an object of a place and returns whether it is there and has this SHA-256. */
export async function isIntact(
  place: Place,
  { key, size_bytes, sha256 }: { key: string; size_bytes: number; sha256: string },
  signal: AbortSignal,
): Promise<boolean> {
  let hash = createHash('sha256');
  let bytes = 0;
  const sink: ByteSink = {
    begin() {
      hash = createHash('sha256');
      bytes = 0;
    },
    write(chunk) {
      hash.update(chunk);
      bytes += chunk.length;
    },
  };
  try {
    await place.get(key, sink, signal);
  } catch (error) {
    if (isObjectFault(error)) return false;
    throw error;
  }
  return bytes === size_bytes && hash.digest('hex') === sha256;
}

/** The sizes of all objects below a prefix, by key. */
export async function listSizes(
  place: Place,
  prefix: string,
  signal: AbortSignal,
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for await (const { key, sizeBytes } of place.list(prefix, signal)) {
    sizes.set(key, sizeBytes);
  }
  return sizes;
}

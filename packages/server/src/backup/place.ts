import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import { makeFolders } from '../platform/make-folders.ts';
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
import { withErrors } from '../platform/objects/patient-store.ts';
import { getBytes, putBytes } from '../platform/objects/spool.ts';
import {
  type BackupName,
  type Manifest,
  manifestKey,
  manifestText,
  parseManifest,
} from './manifest.ts';

/** Where backups lie: a folder, or a bucket and a prefix. It is a store of objects whose errors speak of a place. */
export type Place = ObjectStore;

/** Opens a place: a folder, `file:///folder` or `s3://bucket/prefix?endpoint=…`. Throws `usage_invalid`. */
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
  return withErrors(store, toPlaceError);
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

/** A whole backup in a place. */
export type ListedBackup = BackupName & {
  /** The moment that it shows, as an instant; when its id was made, where its manifest does not tell. */
  readonly taken_at: string;
};

/** The whole backups in a place, or those asked for, by their moments and not by ids: a clock may have been ahead. */
export async function listBackups(
  place: Place,
  signal: AbortSignal,
  { id: wantedId, database: wanted }: BackupChoice = {},
): Promise<ListedBackup[]> {
  const names: BackupName[] = [];
  for await (const { key } of place.list('backups/', signal)) {
    const [, database, id] = /^backups\/([^/]+)\/([^/]+)\/manifest\.json$/.exec(key) ?? [];
    if (database === undefined || id === undefined) continue;
    if ((wantedId ?? id) !== id || (wanted ?? database) !== database) continue;
    names.push({ id, database });
  }
  const listed = await sideBySide(names, { atOnce: 8, signal }, async (name, own) => ({
    ...name,
    taken_at: (await findMoment(place, name, own)) ?? instantOf(name.id),
  }));
  return listed.sort((a, b) => (a.taken_at < b.taken_at ? -1 : 1));
}

/** The moment that a backup shows; null when its manifest cannot be understood: others are found all the same. */
async function findMoment(
  place: Place,
  name: BackupName,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return (await readManifest(place, name, signal)).taken_at;
  } catch (error) {
    const isOwnFault = error instanceof AppError && error.code !== 'backup_place_unavailable';
    if (isOwnFault && error.code.startsWith('backup_')) return null;
    throw error;
  }
}

/** The time with which an id begins, such as `20260305T140709123Z-9fK2`, as an instant; empty for any other id. */
function instantOf(id: string): string {
  const [, day, time] = /^(\d{8})T(\d{9})Z/.exec(id) ?? [];
  if (day === undefined || time === undefined) return '';
  return `${day.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)(...)/, '$1:$2:$3.$4')}Z`;
}

/** A clock may be so far ahead of another before anybody is told. */
const clockSlackMillis = 60_000;

/** Tells of backups whose id or moment has not come yet by the clock of this machine. */
export function warnOfFuture(
  backups: readonly ListedBackup[],
  place: Place,
  onWarning: (text: string) => void,
): void {
  const isAhead = (instant: string) => Date.parse(instant) > Date.now() + clockSlackMillis;
  const ahead = backups.filter(({ id, taken_at }) => isAhead(taken_at) || isAhead(instantOf(id)));
  if (ahead.length === 0) return;
  onWarning(
    `${place.location} has backups of a time to come: ${ahead.map(({ id }) => id).join(', ')}. A clock was ahead when they were made, or that of this machine is behind. Which backup is the newest is told by the moment that it shows; name another one by --id.`,
  );
}

/** Which backup is asked for: the newest, unless more is said. */
export type BackupChoice = {
  readonly id?: string | undefined;
  readonly database?: string | undefined;
};

/**
 * Finds the backup that is asked for, and warns where the newest is asked for and a clock was wrong. Throws
 * `backup_not_found`, and `usage_invalid` where the newest is asked for and there are several databases.
 */
export async function findBackup(
  place: Place,
  { id, database }: BackupChoice,
  { signal, onWarning }: { signal: AbortSignal; onWarning: (text: string) => void },
): Promise<BackupName> {
  const found = await listBackups(place, signal, { id, database });
  if (id === undefined) warnOfFuture(found, place, onWarning);
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
  const databases = new Set(found.map((each) => each.database));
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
  const text = await readText(place, key, signal);
  if (text !== null) return parseManifest(text, `${place.location}/${key}`);
  throw new AppError('backup_not_found', {
    detail: `${place.location} holds no whole backup ${name.id}. svcctl backup ls lists those that are there.`,
  });
}

/** Reads a small object of a place; null when there is none. */
export async function readText(
  place: Place,
  key: string,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return (await getBytes(place, key, { signal })).toString();
  } catch (error) {
    if (error instanceof ObjectMissing) return null;
    throw error;
  }
}

/** Writes the manifest, and reads it back: from then on there is a backup. */
export async function putManifest(
  place: Place,
  manifest: Manifest,
  tools: { spoolDir: string; signal: AbortSignal },
): Promise<void> {
  await putText(place, { key: manifestKey(manifest), text: manifestText(manifest) }, tools);
  await readManifest(place, manifest, tools.signal);
}

/** Writes a small object of a place. */
export async function putText(
  place: Place,
  { key, text }: { key: string; text: string },
  { spoolDir, signal }: { spoolDir: string; signal: AbortSignal },
): Promise<void> {
  await putBytes({ store: place, spoolDir }, { key, bytes: text, signal }).catch(
    (error: unknown) => {
      throw toPlaceError(fromFileSystem(error, `${key} cannot be written in ${spoolDir}`));
    },
  );
}

/** Makes the folder of a place in which files are written before they lie in it, where the place is a folder. */
export async function makePlaceFolder(place: Place): Promise<string | null> {
  if (place.pathOf('any') === null) return null;
  const path = join(place.location, temporaryFolder);
  try {
    await makeFolders(path, 0o700);
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

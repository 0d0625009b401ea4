import { AppError } from '../kernel/errors.ts';
import { randomText } from '../kernel/ids.ts';
import type { Log } from '../platform/log.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { listTables } from '../platform/postgres/migrate.ts';
import { openSnapshot, type Snapshot } from '../platform/postgres/snapshot.ts';
import { busy, withSessionLock } from '../platform/work/session-lock.ts';
import {
  filesOf,
  folderOf,
  type Manifest,
  newManifest,
  type SavedObject,
  type Step,
} from './manifest.ts';
import { markPlace, type OwnMark } from './mark.ts';
import { createObjectSaver, lacking, type ObjectSaver, toSaved, trustText } from './objects.ts';
import { packRows } from './pack-rows.ts';
import {
  type ListedBackup,
  listBackups,
  listSizes,
  type Place,
  putManifest,
  readManifest,
  warnOfFuture,
} from './place.ts';
import { prune } from './prune.ts';
import * as queries from './queries.ts';
import { eachNeeded, eachSavedObject } from './read-files.ts';
import { saveTables } from './save-tables.ts';
import { plainOf } from './seal-objects.ts';
import type { SealedKey } from './sealed-key.ts';
import { openTenantKeys, type TenantKeys } from './tenant-keys.ts';

type SaveTools = {
  readonly db: Database;
  /** The store of cold data. */
  readonly source: ObjectStore;
  readonly place: Place;
  /** Where the keys of tenants lie; without it nothing is encrypted by tenant. */
  readonly keyPlace?: Place | undefined;
  readonly spoolDir: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onStep: (step: Step) => void;
  /** Is told of what somebody should look at. */
  readonly onWarning: (text: string) => void;
};

type SaveOptions = {
  /** Reads neither objects nor months of records again that are as they were in the database's newest backup there. */
  readonly isIncremental: boolean;
  readonly secretKey: SealedKey | null;
  readonly release: string;
  /** Reads how far the audit log is, which the features of access know. */
  readonly readAuditHead: (db: Queryable) => Promise<string>;
  /** Saves the rest where objects are missing or damaged; the manifest names them. */
  readonly allowsMissing: boolean;
  /** Rows of earlier backups are forgotten after so many days; 0 for never. */
  readonly historyDays: number;
  /** So many backups of the database stay in the place; null for all. */
  readonly keep: number | null;
  /** How many bytes of rows begin a new file. */
  readonly fileBytes?: number | undefined;
};

export type Saved = {
  readonly manifest: Manifest;
  readonly newBytes: number;
  /** How many older backups were removed. */
  readonly removed: number;
};

/**
 * Makes a backup of one moment, while others read, write and move. Throws `backup_busy`, 500 `segment_damaged` when an
 * object is missing, and `backup_place_unavailable`; then there is no manifest, and the next run goes on with what is in
 * the place.
 */
export async function save(tools: SaveTools, options: SaveOptions): Promise<Saved> {
  const { db, signal } = tools;
  const lost = 'The connection that keeps other backups of this database away was lost.';
  // A place has many spellings, such as a link to it, or another name of its server. The database is one.
  const saved = await withSessionLock(
    db,
    { name: 'backups', of: '' },
    { signal, lost, work: (own) => saveAlone({ ...tools, signal: own }, options) },
  );
  if (saved !== busy) return saved;
  throw new AppError('backup_busy', {
    detail: 'Another backup of this database is under way. Try again when it has ended.',
  });
}

async function saveAlone(tools: SaveTools, options: SaveOptions): Promise<Saved> {
  const { db, place, signal } = tools;
  const { keep } = options;
  // The time makes ids sort for people, who see them in the names of folders: `20260305T140709123Z-9fK2`.
  const id = `${await queries.readClock(db)}-${randomText(4)}`;
  const database = await queries.findDatabaseId(db);
  const earlier = await listBackups(place, signal, { database });
  warnOfFuture(earlier, place, tools.onWarning);
  if (keep !== null) await refuseForeign(tools, earlier.at(-1));
  const isKnown = (other: string) => queries.isKnown(db, other);
  const mark = await markPlace(place, { id, database }, { ...tools, isKnown });
  try {
    return await saveMarked(tools, options, { id, database, newest: earlier.at(-1), mark });
  } finally {
    await mark.remove();
  }
}

type Run = {
  readonly id: string;
  readonly database: string;
  /** The newest backup of the database that was in the place before. */
  readonly newest: ListedBackup | undefined;
  readonly mark: OwnMark;
};

async function saveMarked(tools: SaveTools, options: SaveOptions, run: Run): Promise<Saved> {
  const { db, place, signal } = tools;
  const { isIncremental, historyDays, keep } = options;
  const { id, database, mark } = run;
  await queries.insertRun(db, { id, place: place.location, isIncremental });
  try {
    const saved = await write(tools, options, run);
    const { taken_at: takenAt, records, size_bytes: sizeBytes } = saved.manifest;
    const { newBytes } = saved;
    await queries.finishRun(db, { id, takenAt, records: records.count, sizeBytes, newBytes });
    if (historyDays > 0) await queries.forgetRuns(db, historyDays);
    if (keep === null) return { ...saved, removed: 0 };
    await mark.assertOwn(signal);
    return { ...saved, ...(await prune(tools, { database, own: id, keep })) };
  } catch (error) {
    const { code, detail } = tellOf(error, tools.signal);
    // What failed is to be told, also when the database does not answer any more.
    await queries.failRun(db, { id, code, error: detail }).catch(() => {});
    throw error;
  }
}

function tellOf(error: unknown, signal: AbortSignal): { code: string; detail: string } {
  if (error instanceof AppError) return error;
  if (signal.aborted) return { code: 'interrupted', detail: 'It was interrupted.' };
  const detail = error instanceof Error ? error.message : String(error);
  return { code: 'internal_error', detail };
}

async function write(
  tools: SaveTools,
  options: SaveOptions,
  { id, database, newest, mark }: Run,
): Promise<Omit<Saved, 'removed'>> {
  const { place, spoolDir, signal } = tools;
  const keys = await openKeys(tools, newest);
  const former = await readFormer(tools, options, { newest, keys });
  const begun = { database, former, keys };
  const { snapshot, saver, objects } = await saveObjects(tools, options, begun);
  try {
    const [live, migrations, records, auditHead] = await snapshot.read(async (connection) => [
      await queries.describeTables(connection, await listSavedTables()),
      await queries.listMigrations(connection),
      await queries.sumCounters(connection),
      await options.readAuditHead(connection),
    ]);
    let rows = 0;
    const saved = await saveTables(snapshot, live, {
      ...tools,
      database,
      former: former.manifest,
      isTrusting: former.isTrusting,
      keys,
      fileBytes: options.fileBytes,
      onRecords(more) {
        rows += more;
        tools.onStep({ name: 'records', done: rows, total: records.hot, bytes: rows });
      },
    });
    const sequences = await queries.listSequences(
      tools.db,
      live.map(({ name }) => name),
    );
    const files = filesOf({ ...saved, objects });
    const manifest = newManifest({
      id,
      database,
      taken_at: snapshot.takenAt,
      release: options.release,
      migrations,
      tables: saved.tables,
      sequences,
      objects,
      records: { count: records.count, bytes: records.bytes, digest: records.digest },
      size_bytes: objects.size_bytes + files.reduce((sum, file) => sum + file.size_bytes, 0),
      audit_head: auditHead,
      secret_key: options.secretKey,
      ...(keys === undefined ? {} : { keys: await keys.settle() }),
    });
    await mark.assertOwn(signal);
    await lookAtAll(manifest, tools);
    await putManifest(place, manifest, { spoolDir, signal });
    return { manifest, newBytes: saver.newBytes() + saved.newBytes };
  } catch (error) {
    if (!snapshot.lost.aborted) throw error;
    throw new AppError('database_unavailable', {
      detail: 'The snapshot was lost with its connection. Run the same command again.',
      retryAfterSeconds: 5,
      cause: error,
    });
  } finally {
    await snapshot.close();
  }
}

/** What a restored database makes anew (limits, processes) or has no use for (sessions, links, files of Iceberg). */
const leftOut: readonly string[] = [
  'schema_migrations',
  'restores',
  'restored_files',
  'sessions',
  'sign_in_links',
  'portal_links',
  'approvals',
  'export_links',
  'limit_use',
  'processes',
  'iceberg_snapshots',
  'iceberg_manifests',
];

async function listSavedTables(): Promise<string[]> {
  return (await listTables()).filter((name) => !leftOut.includes(name));
}

/** Throws `backup_foreign` when the newest backup is unknown here: a copy's, and each would remove the other's. */
async function refuseForeign(
  { db, place }: SaveTools,
  newest: ListedBackup | undefined,
): Promise<void> {
  if (newest === undefined || (await queries.isKnown(db, newest.id))) return;
  if (!(await queries.isOlderThan(db, newest.taken_at))) return;
  throw new AppError('backup_foreign', {
    detail: `${place.location} holds the backup ${newest.id} of ${newest.database}, which this database has not made: it is a copy of that one, or was set back. Give it a place of its own, or leave out --keep.`,
  });
}

/**
 * Checks once more the size of all that the backup names, also of what was trusted. Throws `backup_place_unavailable`.
 */
async function lookAtAll(manifest: Manifest, tools: SaveTools): Promise<void> {
  const { place, signal } = tools;
  const { database } = manifest;
  const sizes = await listSizes(place, `${folderOf('objects', database)}/`, signal);
  for (const [key, size] of await listSizes(place, `${folderOf('tables', database)}/`, signal)) {
    sizes.set(key, size);
  }
  for await (const { key, size_bytes } of eachNeeded(manifest, tools)) {
    if (sizes.get(key) === size_bytes) continue;
    throw new AppError('backup_place_unavailable', {
      detail: `There is no backup: ${key} was removed from ${place.location}, or changed, while it was made. Find out what else writes there, and run the same command again.`,
    });
  }
}

/**
 * Brings the objects twice: first those of the moment, while they may be removed, and then, from a snapshot on, the few
 * that came since, while nothing is removed. So removals wait for a short time, however much there is to copy.
 */
async function saveObjects(
  tools: SaveTools,
  { allowsMissing }: SaveOptions,
  { database, former, keys }: { database: string; former: Former; keys: TenantKeys | undefined },
): Promise<{ snapshot: Snapshot; saver: ObjectSaver; objects: Manifest['objects'] }> {
  const { db, place, signal } = tools;
  const total = await queries.countObjects(db);
  let [done, bytes] = [0, 0];
  const saver = createObjectSaver({
    ...tools,
    database,
    sizes: await listSizes(place, `${folderOf('objects', database)}/`, signal),
    trusted: former.objects,
    keys,
    onObject(sizeBytes) {
      done += 1;
      bytes += sizeBytes;
      tools.onStep({ name: 'objects', done: Math.min(done, total), total, bytes });
    },
  });
  for await (const _ of saver.save(db, { onLacking() {}, signal })) signal.throwIfAborted();
  const lost = 'The connection that keeps objects from being removed was lost.';
  const held = await withSessionLock(
    db,
    { name: 'objectHolds', isShared: true },
    {
      signal,
      lost,
      async work(holding) {
        const snapshot = await openSnapshot(db);
        try {
          return { snapshot, saver, objects: await listObjects(snapshot, holding) };
        } catch (error) {
          await snapshot.close();
          throw error;
        }
      },
    },
  );
  if (held === busy) throw new Error('a lock that is only shared was held alone');
  return held;

  function listObjects(snapshot: Snapshot, holding: AbortSignal): Promise<Manifest['objects']> {
    return snapshot.read(async (connection) => {
      await keys?.begin(connection);
      const sums = { count: 0, size_bytes: 0 };
      const missing: SavedObject[] = [];
      const onLacking = (row: queries.ObjectRow, fault: Error) => {
        if (!allowsMissing) throw lacking(row, fault);
        missing.push(toSaved(row));
      };
      async function* lines() {
        for await (const page of saver.save(connection, { onLacking, signal: holding })) {
          sums.count += page.length;
          for (const { size_bytes } of page) sums.size_bytes += size_bytes;
          yield Buffer.from(page.map((object) => `${JSON.stringify(object)}\n`).join(''));
        }
      }
      const folder = `${folderOf('tables', database)}/objects`;
      const target = { ...tools, folder, isTrusting: former.isTrusting };
      const { files } = await packRows(lines(), { ...target, signal: holding });
      return { ...sums, lists: files, ...(missing.length === 0 ? {} : { missing }) };
    });
  }
}

/** What is not read again: the months of a manifest, objects, and files that lie there under the names of what is saved. */
type Former = {
  readonly manifest: Manifest | null;
  /** The SHA-256 of their files, by `trustText`. */
  readonly objects: ReadonlyMap<string, string>;
  readonly isTrusting: boolean;
};

/** What an incremental backup takes from the newest one: nothing where that is damaged, so that this one is whole. */
async function readFormer(
  tools: SaveTools,
  { isIncremental }: SaveOptions,
  { newest, keys }: { newest: ListedBackup | undefined; keys: TenantKeys | undefined },
): Promise<Former> {
  const objects = new Map<string, string>();
  const none = { manifest: null, objects: new Map<string, string>(), isTrusting: isIncremental };
  if (!isIncremental || newest === undefined) return none;
  try {
    const manifest = await readManifest(tools.place, newest, tools.signal);
    for await (const object of eachSavedObject(manifest, tools)) {
      const plain = plainOf(object, keys?.find);
      if (plain !== null) objects.set(trustText(plain, object.sealed?.key), object.sha256);
    }
    // Months that are encrypted from now on, or are no more, or by a key that another has replaced, are written anew.
    const isUsable =
      manifest.keys === undefined
        ? keys === undefined
        : keys !== undefined && (await keys.areKept(manifest.keys));
    return { manifest: isUsable ? manifest : null, objects, isTrusting: true };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'backup_damaged') throw error;
    tools.onWarning(`The last backup is damaged, so this one reads all again. ${error.detail}`);
    return { ...none, isTrusting: false };
  }
}

/** Opens the keys of tenants, those of the newest backup if it has any; undefined where nothing is encrypted. */
async function openKeys(
  { keyPlace, db, place, spoolDir, signal }: SaveTools,
  newest: ListedBackup | undefined,
): Promise<TenantKeys | undefined> {
  if (keyPlace === undefined) return undefined;
  const former =
    newest &&
    (await readManifest(place, newest, signal).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'backup_damaged') return undefined;
      throw error;
    }));
  const keys = await openTenantKeys({ place: keyPlace, db, spoolDir, signal }, former?.keys);
  await keys.begin(db);
  return keys;
}

import { realpath, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { auditLocally, readAuditHead } from '../access/index.ts';
import {
  type BackupChoice,
  type BackupReport,
  findBackup,
  finder,
  listBackups,
  type Manifest,
  makePlaceFolder,
  noteVerified,
  openPlace,
  type Place,
  readKeys,
  readManifest,
  type Step,
  save,
  sealKey,
  verify,
  warnOfFuture,
} from '../backup/index.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import { createDuckDb } from '../platform/duckdb.ts';
import type { Log } from '../platform/log.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import { makeSpoolDir, openObjectStore } from '../platform/objects/open-store.ts';
import { createPatientStore, type PatientStoreOptions } from '../platform/objects/patient-store.ts';
import type { Database } from '../platform/postgres/database.ts';
import { findCluster } from '../platform/postgres/distribute.ts';
import { listNewerMigrations, migrate } from '../platform/postgres/migrate.ts';
import { type Closers, withClosers } from '../platform/work/stop.ts';
import { countSealed, findKeyring, readSecretKey } from '../webhooks/index.ts';
import { openOwnDatabase } from './database.ts';

/** What the commands about backups have in common. */
export type BackupTools = {
  readonly settings: Settings;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The folder from which the path of a place is read. */
  readonly cwd: string;
  readonly release: string;
  readonly onStep: (step: Step) => void;
  /** Is told of what somebody should look at. */
  readonly onWarning: (text: string) => void;
} & Partial<Pick<PatientStoreOptions, 'now' | 'sleep'>>;

/** A backup, as the command line tells it. */
export type BackupSummary = Pick<
  Manifest,
  'id' | 'database' | 'taken_at' | 'release' | 'size_bytes'
> & {
  readonly place: string;
  readonly records: number;
  readonly objects: number;
  /** How far the audit log was. */
  readonly audit_head: string;
  readonly has_secret_key: boolean;
  /** The keys of objects that were missing or damaged, and are not in it. */
  readonly missing: readonly string[];
};

export type BackUpOptions = {
  readonly out: string;
  readonly isIncremental: boolean;
  /** Under what the secret key is encrypted; null leaves it out. */
  readonly passphrase: string | null;
  readonly isVerified: boolean;
  /** So many backups of this database stay in the place; null for all. */
  readonly keep: number | null;
  /** Saves the rest where objects are missing or damaged. */
  readonly allowsMissing: boolean;
};

/** Makes a backup of the database of the settings and its objects, also while a service runs on it. */
export async function backUp(
  tools: BackupTools,
  options: BackUpOptions,
): Promise<BackupSummary & { new_bytes: number; removed: number; report: BackupReport | null }> {
  const { settings, log, signal } = tools;
  return withClosers(tools.log, async (closers) => {
    const place = await openPlaceOf(options.out, tools, closers);
    const keyPlace = await openKeyPlace(place, tools, closers);
    const db = await openOwnDatabase(settings, log, closers, signal);
    await refuseCluster(db);
    await migrate(db, signal);
    await refuseNewer(db);
    const secretKey =
      options.passphrase === null
        ? null
        : await sealKey(await provenKey(db, settings), options.passphrase);
    const source = patient(await openObjectStore(settings.blobUrl, settings.dataDir), tools);
    closers.push(() => source.close());
    const spoolDir = await openSpool(keyPlace === undefined ? place : null, settings, closers);
    await auditLocally(db, 'this machine', {
      action: 'backup.create',
      target: null,
      after: { place: place.location, has_secret_key: secretKey !== null },
    });
    const { isIncremental, keep, allowsMissing } = options;
    const { historyDays } = settings;
    const { manifest, newBytes, removed } = await save(
      { ...tools, db, source, place, keyPlace, spoolDir },
      {
        isIncremental,
        allowsMissing,
        secretKey,
        historyDays,
        keep,
        readAuditHead,
        release: tools.release,
      },
    );
    const report = options.isVerified ? await verifyAt(place, manifest, tools, closers) : null;
    if (report?.problem_count === 0) await noteVerified(db, manifest.id);
    return { ...summarize(place, manifest), new_bytes: newBytes, removed, report };
  });
}

/** Reads a backup back and says what of it is not as it was written. It needs no database, and changes nothing. */
export async function verifyBackup(
  tools: BackupTools,
  { from, ...choice }: { from: string } & BackupChoice,
): Promise<BackupSummary & { report: BackupReport }> {
  const { signal } = tools;
  return withClosers(tools.log, async (closers) => {
    const place = await openPlaceOf(from, tools, closers);
    const name = await findBackup(place, choice, tools);
    const manifest = await readManifest(place, name, signal);
    const report = await verifyAt(place, manifest, tools, closers);
    return { ...summarize(place, manifest), report };
  });
}

/** The whole backups in a place, the newest first. */
export async function listPlace(tools: BackupTools, from: string): Promise<BackupSummary[]> {
  const { signal } = tools;
  return withClosers(tools.log, async (closers) => {
    // Whoever looks would rather be told at once than wait.
    const place = await openPlace(from, tools.cwd);
    closers.push(() => place.close());
    const found: BackupSummary[] = [];
    const listed = await listBackups(place, signal);
    warnOfFuture(listed, place, tools.onWarning);
    for (const name of listed.reverse()) {
      found.push(summarize(place, await readManifest(place, name, signal)));
    }
    return found;
  });
}

/** Opens a place for work that waits while it does not answer. */
export async function openPlaceOf(
  text: string,
  tools: BackupTools,
  closers: Closers,
): Promise<Place> {
  const place = await openPlace(text, tools.cwd);
  closers.push(() => place.close());
  return patient(place, tools);
}

/** Opens the place of the keys of tenants. Throws `settings_invalid` where whoever has the backups has them, too. */
export async function openKeyPlace(
  place: Place,
  tools: BackupTools,
  closers: Closers,
): Promise<Place | undefined> {
  const { backupKeys } = tools.settings;
  if (backupKeys === undefined) return undefined;
  const keyPlace = await openPlaceOf(backupKeys, tools, closers);
  const [own, others] = [await realLocation(keyPlace), await realLocation(place)];
  if (!own.startsWith(others) && !others.startsWith(own)) return keyPlace;
  throw new AppError('settings_invalid', {
    detail: `SVC_BACKUP_KEYS is ${keyPlace.location}, and backups lie in ${place.location}: one is inside the other, and whoever had the backups would have the keys. Give the keys a place elsewhere. Nothing was changed.`,
  });
}

async function realLocation(place: Place): Promise<string> {
  if (place.pathOf('any') === null) return `${place.location}/`;
  const resolved = async (path: string): Promise<string> =>
    realpath(path).catch(async () =>
      dirname(path) === path ? path : join(await resolved(dirname(path)), basename(path)),
    );
  return `${(await resolved(place.location)).replace(/\/$/, '')}/`;
}

/** The same store for work that waits while it does not answer. */
export function patient(
  store: ObjectStore,
  { signal, onWarning, now, sleep }: BackupTools,
): ObjectStore {
  return createPatientStore(store, { signal, onWarning, now, sleep });
}

export async function refuseCluster(db: Database): Promise<void> {
  if ((await findCluster(db)) === null) return;
  throw new AppError('database_unusable', {
    detail:
      'The database is a Citus cluster, whose servers have no moment in common that svcctl could see. Back it up by the means of the cluster: see docs/operations.md.',
  });
}

async function refuseNewer(db: Database): Promise<void> {
  const [newer] = await listNewerMigrations(db);
  if (newer === undefined) return;
  throw new AppError('database_newer', {
    detail: `The database has the migration ${newer.name}, which this release does not know, nor what else belongs to a backup of it. Use the newest svcctl that works on it.`,
  });
}

/** The text of the secret key, if it opens all secrets of this database. */
async function provenKey(db: Database, settings: Settings): Promise<string> {
  const { wanted, others } = await findKeyring(db, settings);
  const isOther = (id: string | null) => others.some((key) => key.id === id);
  if (isOther(wanted.id) || (await countSealed(db)).some(({ key_id }) => isOther(key_id))) {
    throw new AppError('settings_invalid', {
      detail:
        'Keys are being rotated: some secrets need the one, some the other. End that by svcctl keys rotate, then back up.',
    });
  }
  return readSecretKey(settings);
}

/**
 * In a place that is a folder, files are written where they are to lie, so that they need not be copied. `place` is null
 * where what is encrypted passes: a kill would leave it there as it is.
 */
async function openSpool(
  place: Place | null,
  settings: Settings,
  closers: Closers,
): Promise<string> {
  const inPlace = place && (await makePlaceFolder(place));
  if (inPlace !== null) return inPlace;
  const dir = await makeSpoolDir(join(settings.dataDir, 'spool'));
  closers.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const duckDbBytes = 256 * 2 ** 20;

async function verifyAt(
  place: Place,
  manifest: Manifest,
  tools: BackupTools,
  closers: Closers,
): Promise<BackupReport> {
  // The place may be one that can only be read, and there may be no data folder.
  const spoolDir = await makeSpoolDir(join(tmpdir(), `svcctl-verify-${userInfo().uid}`));
  closers.push(() => rm(spoolDir, { recursive: true, force: true }));
  const duckdb = createDuckDb({
    memoryBytes: duckDbBytes,
    threads: 1,
    cachesFiles: false,
    tempDir: join(spoolDir, 'duckdb'),
    niceness: 0,
    log: tools.log,
  });
  closers.push(() => duckdb.close());
  const keyPlace = manifest.keys && (await openKeyPlace(place, tools, closers));
  const keys =
    manifest.keys &&
    keyPlace &&
    (await readKeys(keyPlace, manifest.keys, tools.signal, { skipsLost: true }));
  const found = { find: keys && finder(keys), lostKeys: keys?.lost };
  return verify(manifest, { ...tools, place, spoolDir, duckdb, ...found });
}

export function summarize(place: Place, manifest: Manifest): BackupSummary {
  const { id, database, taken_at, release, size_bytes } = manifest;
  return {
    id,
    database,
    place: place.location,
    taken_at,
    release,
    records: manifest.records.count,
    objects: manifest.objects.count,
    size_bytes,
    audit_head: manifest.audit_head,
    has_secret_key: manifest.secret_key !== null,
    missing: (manifest.objects.missing ?? []).map(({ key }) => key),
  };
}

import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { auditLocally } from '../access/index.ts';
import {
  type BackupChoice,
  countOpenDeliveries,
  findBackup,
  finder,
  listWithout,
  type Manifest,
  openKey,
  type Place,
  type RestoredObjects,
  readKeys,
  readManifest,
  restoreDatabase,
  restoreObjects,
  unusable,
} from '../backup/index.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import { makeSpoolDir } from '../platform/objects/open-store.ts';
import type { Database } from '../platform/postgres/database.ts';
import { unpaced } from '../platform/work/pace.ts';
import { type Closers, withClosers } from '../platform/work/stop.ts';
import { disownObjects, type VerificationRow, verifyNow } from '../retention/index.ts';
import { findKeyring } from '../webhooks/index.ts';
import {
  type BackupSummary,
  type BackupTools,
  openKeyPlace,
  openPlaceOf,
  patient,
  refuseCluster,
  summarize,
} from './backup.ts';
import { type ColdTier, openColdTier } from './cold-tier.ts';
import { makeDataDir, openToRestore } from './database.ts';

export type RestoreOptions = BackupChoice & {
  readonly from: string;
  /** Restores into a scratch folder with a PostgreSQL of its own, and removes it again. */
  readonly isDrill: boolean;
  /** Takes the store over, although it has gone on with another database. */
  readonly isAdopting: boolean;
  /**
   * Restores without the objects that are missing or damaged in the backup: their days cannot be read then. Also without
   * the tenants whose keys are lost.
   */
  readonly skipsDamaged: boolean;
  /** Finds the passphrase of a backup that has the secret key; null when nobody can be asked. */
  readonly findPassphrase: () => Promise<string | null>;
};

/** What a restore has done, and what the verification found that ends it. */
export type Restored = BackupSummary & {
  readonly objects_brought: number;
  /** Objects that the store lacks, and that were not put there because it is another database's. */
  readonly objects_missing: number;
  /** The keys of objects that are missing or damaged in the backup, and were passed over. */
  readonly objects_damaged: readonly string[];
  /** The tenants whose keys are gone: nothing of theirs was restored. */
  readonly tenants_left_out: readonly string[];
  /** Deliveries that a drainer will attempt, also those that the original has made since the backup. */
  readonly deliveries_open: number;
  /** Whether the key that is here opens the secrets of the endpoints. */
  readonly secret_key: 'fits' | 'missing';
  readonly verification: VerificationRow;
};

/**
 * Restores a backup into the empty database and the store of the settings, and verifies both. A database that was killed
 * halfway is gone on with. Throws as `restoreDatabase` does, and before anything is changed `passphrase_wrong`, and `settings_invalid` without one.
 */
export async function restoreBackup(
  tools: BackupTools,
  options: RestoreOptions,
): Promise<Restored> {
  return withClosers(tools.log, async (closers) => {
    const place = await openPlaceOf(options.from, tools, closers);
    const name = await findBackup(place, options, tools);
    const manifest = await readManifest(place, name, tools.signal);
    const settings = options.isDrill ? await makeScratch(tools, closers) : tools.settings;
    return restoreInto({ ...tools, settings }, { manifest, place, options, closers });
  });
}

/** The settings of a drill: everything lies in a folder that is removed at the end, or by the next drill after a kill. */
async function makeScratch({ settings }: BackupTools, closers: Closers): Promise<Settings> {
  const dataDir = await makeSpoolDir(join(tmpdir(), `svcctl-drills-${userInfo().uid}`));
  closers.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  return {
    ...settings,
    dataDir,
    databaseUrl: undefined,
    blobUrl: undefined,
    secretKey: undefined,
    store: 'read-write',
  };
}

type FoundKeys = {
  readonly gone: Awaited<ReturnType<typeof readKeys>>['gone'];
  readonly find?: ReturnType<typeof finder>;
};
type Source = { manifest: Manifest; place: Place; options: RestoreOptions; closers: Closers };

async function restoreInto(
  tools: BackupTools,
  { manifest, place, options, closers }: Source,
): Promise<Restored> {
  const { settings, log, signal, onStep } = tools;
  const secret = await openSecret(settings, manifest, options);
  const keys = await openKeys({ manifest, place, options, closers }, tools);
  await makeDataDir(settings);
  if (secret !== null) await refuseOtherKey(settings, secret);
  const db = await openToRestore(settings, log, closers, signal);
  await refuseCluster(db);
  const cold = await openColdTier(settings, { db, log }, closers);
  const reading = { ...keys, place, into: settings, spoolDir: cold.spoolDir, onStep };
  let objects: RestoredObjects = { brought: 0, missing: 0, damaged: [] };
  const restoring = restoreDatabase(manifest, { ...reading, db, signal }, async (own) => {
    const store = patient(cold.store, tools);
    const mayWrite = await mayWriteTo({ ...cold, store }, options, own);
    objects = await restoreObjects(
      manifest,
      { ...reading, store, signal: own },
      { mayWrite, skipsDamaged: options.skipsDamaged },
    );
    if (options.isAdopting && mayWrite) await adopt(db, cold, own);
    if (secret !== null) await writeKey(settings, secret);
  });
  await restoring.catch(async (error: unknown) => {
    throw await withWayOn(error, manifest, { ...reading, signal });
  });
  await auditLocally(db, 'this machine', {
    action: 'backup.restore',
    target: null,
    after: { id: manifest.id, place: place.location },
  });
  const verifying = {
    db,
    objects: cold.store,
    duckdb: cold.moverDuckdb,
    spoolDir: cold.spoolDir,
    log,
    pace: unpaced,
  };
  return {
    ...summarize(place, manifest),
    objects_brought: objects.brought,
    objects_missing: objects.missing,
    objects_damaged: objects.damaged,
    tenants_left_out: keys.gone.map(({ tenant }) => tenant),
    deliveries_open: await countOpenDeliveries(db),
    secret_key: (await hasKey(db, settings)) ? 'fits' : 'missing',
    verification: await verifyNow(verifying, { requestedBy: 'svcctl restore', signal }),
  };
}

/** So many other backups are named. */
const toldBackups = 5;

/** Says of a part of a backup that is damaged what can be done: the database is half restored by then. */
async function withWayOn(
  error: unknown,
  manifest: Manifest,
  tools: Parameters<typeof listWithout>[2],
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== 'backup_damaged') return error;
  const { key } = error.members;
  if (typeof key !== 'string') return error;
  const ways: string[] = [];
  if (key.startsWith('objects/')) {
    ways.push(
      'To restore the rest into the same database, run the same command again with --skip-damaged: the days of what is damaged cannot be read then.',
    );
  }
  const ids = await listWithout(manifest, key, tools).catch(() => []);
  const more = ids.length > toldBackups ? ` and ${ids.length - toldBackups} older ones` : '';
  ways.push(
    ids.length === 0
      ? 'No other backup here does without it.'
      : `These backups do without it: ${ids.slice(0, toldBackups).join(', ')}${more}. Each of them takes an empty database (--id): make the one of DATABASE_URL anew, or give another SVC_DATA_DIR.`,
  );
  const what = error.detail.replace(/ Use another backup: .*/, '');
  return new AppError('backup_damaged', { detail: `${what} ${ways.join(' ')}`, cause: error });
}

/** A store with a marker belongs to some database, which may be alive: it is written only on request. */
async function mayWriteTo(
  { store, fence }: ColdTier,
  { isAdopting }: RestoreOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (fence.isReadOnly) return false;
  return isAdopting || (await store.marker.read(signal)) === null;
}

/** Does what `svcctl retention adopt-store` does. */
async function adopt(db: Database, { fence }: ColdTier, signal: AbortSignal): Promise<void> {
  await disownObjects(db);
  await fence.adopt(signal);
}

/** Throws `settings_invalid` where the backup has the key and there is neither its passphrase nor a key here. */
async function openSecret(
  settings: Settings,
  { secret_key: sealed }: Manifest,
  { findPassphrase, isDrill }: RestoreOptions,
): Promise<string | null> {
  if (sealed === null) return null;
  const passphrase = await findPassphrase();
  if (passphrase !== null) return openKey(sealed, passphrase);
  if (isDrill || settings.secretKey !== undefined || existsSync(keyFile(settings))) return null;
  throw new AppError('settings_invalid', {
    detail: `SVC_BACKUP_PASSPHRASE is not set, and the backup has the key of webhook secrets under its passphrase. Set it, or run this on a terminal. Without the passphrase put the key into SVC_SECRET_KEY or ${keyFile(settings)}; where both are lost, a new one, and svcctl keys rotate --lost afterwards. Nothing was restored.`,
  });
}

/** Finds the keys of tenants. Throws `backup_keys_unusable` where the backup has some and nobody says where they lie. */
async function openKeys(
  { manifest, place, closers, options: { skipsDamaged } }: Source,
  tools: BackupTools,
): Promise<FoundKeys> {
  if (manifest.keys === undefined) return { gone: [] };
  const keyPlace = await openKeyPlace(place, tools, closers);
  if (keyPlace !== undefined) {
    const found = await readKeys(keyPlace, manifest.keys, tools.signal, {
      skipsLost: skipsDamaged,
    });
    return { gone: found.gone, find: finder(found) };
  }
  throw unusable(
    'What belongs to tenants is encrypted in this backup, and SVC_BACKUP_KEYS, which says where their keys lie, is not set.',
  );
}

const keyFile = (settings: Settings) => join(settings.dataDir, 'secret-key');

async function refuseOtherKey(settings: Settings, secret: string): Promise<void> {
  const own =
    settings.secretKey ?? (await readFile(keyFile(settings), 'utf8').catch(() => secret)).trim();
  if (own === secret) return;
  throw new AppError('settings_invalid', {
    detail: `${settings.secretKey === undefined ? keyFile(settings) : 'SVC_SECRET_KEY'} is another key than that of the backup. Remove it first. Nothing was restored.`,
  });
}

async function writeKey(settings: Settings, secret: string): Promise<void> {
  if (settings.secretKey !== undefined) return;
  await writeFile(keyFile(settings), `${secret}\n`, { mode: 0o600, flush: true });
}

async function hasKey(db: Database, settings: Settings): Promise<boolean> {
  try {
    await findKeyring(db, settings);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'settings_invalid') return false;
    throw error;
  }
}

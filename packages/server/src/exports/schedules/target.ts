import { randomBytes } from 'node:crypto';
import { rmdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { makeFolders } from '../../platform/make-folders.ts';
import { createFileStore } from '../../platform/objects/file-system.ts';
import { assertObjectKey, type ObjectStore } from '../../platform/objects/objects.ts';
import { withErrors } from '../../platform/objects/patient-store.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import { type S3Credentials, usualLimits } from '../../platform/objects/s3-client.ts';
import { parseS3Url } from '../../platform/objects/s3-url.ts';
import { getBytes, putBytes } from '../../platform/objects/spool.ts';
import { tenantFolder } from '../../records/index.ts';

/** What the places of deliveries are opened with. */
export type TargetTools = {
  /** Folders, and origins of servers of S3, as `SVC_EXPORT_ROOTS` lists them. */
  readonly roots: readonly string[];
  /** A folder for temporary files. */
  readonly spoolDir: string;
};

/** Where a schedule delivers: a place that can be opened, and the path of folders in it, with placeholders. */
export type Target = {
  /** A folder, or `s3://bucket`. */
  readonly place: string;
  /** The rest of the URL of a bucket: `?region=…`, or nothing. */
  readonly query: string;
  readonly path: string;
};

const placeholders = ['tenant', 'schedule', 'date'] as const;

/**
 * Reads where a schedule delivers. Throws 400 `request_invalid`, and `export_target_refused` for a folder or a server
 * that the settings do not list: whoever may make schedules need not be the one who decides where the machine may write.
 */
export function parseTarget(to: string, roots: readonly string[]): Target {
  const target = /^s3:/i.test(to) ? parseBucket(to, roots) : parseFolder(to, roots);
  for (const [, name = ''] of target.path.matchAll(/\{([^}]*)\}/g)) {
    if (placeholders.some((known) => known === name)) continue;
    const all = placeholders.map((known) => `{${known}}`).join(', ');
    throw invalidInput('/to', `has the placeholder {${name}}; there are ${all}`);
  }
  return target;
}

function parseFolder(to: string, roots: readonly string[]): Target {
  if (!to.startsWith('/')) {
    throw invalidInput('/to', 'is neither s3://bucket/path nor the whole path of a folder');
  }
  const path = resolve(to);
  const folders = roots.filter((root) => root.startsWith('/'));
  const place = folders.find((root) => path === root || path.startsWith(`${root}/`));
  if (place !== undefined) return { place, query: '', path: path.slice(place.length + 1) };
  const listed = folders.length === 0 ? 'It lists no folder' : `It lists ${folders.join(', ')}`;
  throw new AppError('export_target_refused', {
    detail: `${path} does not lie below a folder of SVC_EXPORT_ROOTS. ${listed}. Choose another folder, or have the operator of the service add this one.`,
  });
}

function parseBucket(to: string, roots: readonly string[]): Target {
  const [, bucket = '', path = '', query = ''] =
    /^s3:\/\/([^/?]*)\/?([^?]*)(\?.*)?$/i.exec(to) ?? [];
  const place = `s3://${bucket}`;
  const { endpoint, region } = spoken(() => parseS3Url(`${place}${query}`));
  if (endpoint === undefined && region === undefined) {
    throw invalidInput('/to', 'names no region: add ?region=');
  }
  if (region !== undefined && !/^[A-Za-z0-9-]{1,50}$/.test(region)) {
    throw invalidInput('/to', `has a region that is none: ${region}`);
  }
  const origin = endpoint === undefined ? undefined : new URL(endpoint).origin;
  if (origin !== undefined && !roots.includes(origin)) {
    throw new AppError('export_target_refused', {
      detail: `The server ${origin} is not in SVC_EXPORT_ROOTS. Have the operator of the service add it, or leave ?endpoint= out for Amazon S3.`,
    });
  }
  return { place, query, path: decodePath(path).replace(/\/$/, '') };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalidInput('/to', 'has a path with wrong percent-encoding');
  }
}

/** Says of a target what is said of SVC_BLOB_URL elsewhere. */
function spoken<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'settings_invalid') throw error;
    throw invalidInput('/to', error.detail.replace(/^SVC_BLOB_URL /, ''));
  }
}

/** The folder of one run: no two runs have the same, whatever the path says. */
export function folderOfRun(
  { place, path }: Target,
  run: { tenant: string; schedule: string; exportId: string; recordedBefore: string },
): string {
  const values = {
    tenant: tenantFolder(run.tenant).slice('tenant='.length),
    schedule: run.schedule,
    date: run.recordedBefore.slice(0, 10),
  };
  const filled = path.replace(
    /\{(tenant|schedule|date)\}/g,
    (_, name: keyof typeof values) => values[name],
  );
  const stamp = run.recordedBefore.slice(0, 19).replace(/[:-]/g, '');
  return [place, filled, `${stamp}Z-${run.exportId}`].filter((part) => part !== '').join('/');
}

/** Opens a place of deliveries. What fails there is told as 400 `export_target_unusable`. Close it in the end. */
export async function openTarget(
  { place, query }: Target,
  credentials: S3Credentials | undefined,
): Promise<ObjectStore> {
  const store = place.startsWith('/')
    ? createFileStore(place, { isShared: true })
    : await createS3Store(`${place}${query}`, usualLimits, credentials);
  return withErrors(store, toTargetError);
}

function toTargetError(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'cold_tier_unavailable') return error;
  const detail = error.detail
    .replace('in SVC_BLOB_URL', 'of the schedule')
    .replace('SVC_BLOB_URL', 'the place of the schedule')
    .replace('that the service runs with', 'of the schedule')
    .replace(
      'Give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile',
      'Give the schedule credentials',
    );
  return new AppError('export_target_unusable', { detail, cause: error });
}

const tryMillis = 20_000;

/** Tries the folder of a run: writes, reads, removes. Throws 400 `request_invalid`, `export_target_unusable`. */
export async function tryTarget(
  target: Target,
  { credentials, ...own }: { tenant: string; schedule: string; credentials?: S3Credentials },
  { spoolDir }: Pick<TargetTools, 'spoolDir'>,
): Promise<void> {
  const run = { ...own, exportId: newId('exp'), recordedBefore: new Date().toISOString() };
  const folder = folderOfRun(target, run).slice(target.place.length + 1);
  const key = `${folder}/_svcctl-test-${randomBytes(8).toString('hex')}`;
  try {
    assertObjectKey(key);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalidInput('/to', `is no place for runs: ${error.message}`);
  }
  const store = await openTarget(target, credentials);
  const late = AbortSignal.timeout(tryMillis);
  let removeFolders = async () => {};
  try {
    const content = randomBytes(64);
    removeFolders = await makeFoldersAbove(store.pathOf(key));
    await putBytes({ store, spoolDir }, { key, bytes: content, signal: late });
    const found = await getBytes(store, key, { signal: late });
    await store.remove(key, late);
    if (!found.equals(content)) {
      throw new AppError('export_target_unusable', {
        detail: `${store.location} gives back something else than what was written to it.`,
      });
    }
  } catch (error) {
    if (!late.aborted) throw error;
    throw new AppError('export_target_unusable', {
      detail: `${store.location} did not answer within ${tryMillis / 1000} seconds. Check the place, and that this machine reaches it.`,
      cause: error,
    });
  } finally {
    await removeFolders();
    await store.close();
  }
}

/** Makes the folders above a file. Returns what removes those that were not there before and are empty again. */
async function makeFoldersAbove(path: string | null): Promise<() => Promise<void>> {
  if (path === null) return async () => {};
  const folder = dirname(path);
  // What cannot be made is told when the file is put.
  const first = await makeFolders(folder, 0o755).catch(() => undefined);
  return async () => {
    let made = folder;
    while (first !== undefined && made.length >= first.length) {
      await rmdir(made).catch(() => {});
      made = dirname(made);
    }
  };
}

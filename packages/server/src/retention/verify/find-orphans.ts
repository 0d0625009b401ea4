import type { ObjectInfo, ObjectStore } from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Rest } from '../../platform/work/pace.ts';
import { tenantFolder } from '../../records/segments.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import { listUnknownObjects } from './queries.ts';
import { number } from './report.ts';

/**
 * The prefixes under which our objects lie. Others may use the bucket, too, with folders of the same names. Segments
 * once lay at the root of the bucket, so `tenant=` is still one of the prefixes.
 */
export const ourFolders = ['records/tenant=', 'tenant=', 'exports/tenant='] as const;
const batchObjects = 1000;
/** So many objects are looked at again at once: one at a time, 100,000 orphans on S3 would take half an hour. */
const headsAtOnce = 32;

type Search = {
  signal: AbortSignal;
  /** Is awaited after each batch of objects, so that clients go first. */
  rest: Rest;
  add: (problems: readonly VerifyProblem[]) => void;
};

/**
 * Finds the objects that nobody knows. Objects are listed first and the database is asked afterwards: a move names its
 * objects in the journal before it writes them, and they stay named until they are removed.
 */
export async function findOrphans(
  db: Queryable,
  objects: ObjectStore,
  prefixes: readonly string[],
  search: Search,
): Promise<void> {
  for (const prefix of prefixes) {
    let batch: ObjectInfo[] = [];
    for await (const object of objects.list(prefix, search.signal)) {
      batch.push(object);
      if (batch.length < batchObjects) continue;
      await check(db, objects, batch, search);
      batch = [];
    }
    await check(db, objects, batch, search);
  }
}

async function check(
  db: Queryable,
  objects: ObjectStore,
  batch: readonly ObjectInfo[],
  { signal, rest, add }: Search,
): Promise<void> {
  if (batch.length === 0) return;
  const unknown = await listUnknown(db, batch);
  const sizes = new Map(batch.map(({ key, sizeBytes }) => [key, sizeBytes]));
  for (let at = 0; at < unknown.length; at += headsAtOnce) {
    const keys = unknown.slice(at, at + headsAtOnce);
    // If an object is gone by now, it was removed between the two looks: a key is never used a second time.
    const heads = await Promise.all(keys.map((key) => objects.head(key, signal)));
    const left = keys.filter((_, i) => heads[i] !== null);
    add(left.map((key) => orphan(key, sizes.get(key) ?? 0, objects.location)));
  }
  await rest(signal);
}

/** Finds the keys of those objects that nobody knows. */
export function listUnknown(
  db: Queryable,
  batch: readonly Pick<ObjectInfo, 'key'>[],
): Promise<string[]> {
  const asked = batch.map(({ key }) => {
    const { tenant, exportId } = partsOf(key);
    return { key, tenant, exportId };
  });
  return listUnknownObjects(db, asked);
}

function orphan(key: string, sizeBytes: number, location: string): VerifyProblem {
  const { tenant, firstDay, lastDay } = partsOf(key);
  return {
    kind: 'object_orphan',
    tenant,
    object_key: key,
    store: null,
    first_day: firstDay,
    last_day: lastDay,
    message: `No segment, no open move, no export and no removal to come names this object of ${number(sizeBytes)} bytes in ${location}. No read needs it. Keep it while the database may be restored to an earlier state; otherwise remove it.`,
  };
}

/**
 * The parts of an object's key. Its form is `records/tenant=<tenant>/<first day>_<last day>_<segment id>.parquet`, the
 * same without `records/` for objects that are older than that folder, or `exports/tenant=<tenant>/<export id>/<part>`.
 * A part that the key does not tell is null.
 */
export function partsOf(
  key: string,
): Record<'tenant' | 'firstDay' | 'lastDay' | 'exportId', string | null> {
  const [, exported, exportedId = null] =
    /^exports\/tenant=([^/]+)\/([^/]+)\/[^/]+$/.exec(key) ?? [];
  const [, stored = '', name = ''] = /^(?:records\/)?tenant=([^/]+)\/([^/]+)$/.exec(key) ?? [];
  const folder = exported ?? stored;
  const [, firstDay = null, lastDay = null] =
    /^(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d)_/.exec(name) ?? [];
  const tenant = decoded(folder);
  // The folder's name is cut for a long tenant, and then does not tell which tenant it is.
  const isWhole = tenant !== null && tenantFolder(tenant) === `tenant=${folder}`;
  return { tenant: isWhole ? tenant : null, firstDay, lastDay, exportId: exportedId };
}

function decoded(text: string): string | null {
  try {
    return text === '' ? null : decodeURIComponent(text);
  } catch {
    return null;
  }
}

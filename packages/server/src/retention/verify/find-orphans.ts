import { batchesOf } from '../../kernel/batches.ts';
import { formatCount } from '../../kernel/values.ts';
import type { ObjectInfo, ObjectStore } from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Rest } from '../../platform/work/pace.ts';
import { tenantOfFolder } from '../../records/segments.ts';
import { listOverdueRemovals, type Removal } from '../mover/queries.ts';
import type { VerifyProblem } from '../schemas.contract.ts';
import type { ProblemKind } from '../values.ts';
import type { VerifyTools } from './check-segments.ts';
import { listUnknownObjects } from './queries.ts';

/** The prefixes under which our objects lie. Others may use the bucket, too, with folders of the same names. */
export const ourFolders = ['records/tenant=', 'exports/tenant='] as const;
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
  for await (const found of eachOrphan(db, objects, prefixes, search.signal)) {
    search.add(found.map(({ key, sizeBytes }) => orphan(key, sizeBytes, objects.location)));
    await search.rest(search.signal);
  }
}

/** The objects that nobody knows, in batches as they are found; a batch may be empty. */
export async function* eachOrphan(
  db: Queryable,
  objects: ObjectStore,
  prefixes: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ObjectInfo[]> {
  for (const prefix of prefixes) {
    for await (const batch of batchesOf(objects.list(prefix, signal), batchObjects)) {
      yield await check(db, objects, batch, signal);
    }
  }
}

async function check(
  db: Queryable,
  objects: ObjectStore,
  batch: readonly ObjectInfo[],
  signal: AbortSignal,
): Promise<ObjectInfo[]> {
  const unknown = new Set(await listUnknown(db, batch));
  const asked = batch.filter(({ key }) => unknown.has(key));
  const found: ObjectInfo[] = [];
  for (let at = 0; at < asked.length; at += headsAtOnce) {
    const some = asked.slice(at, at + headsAtOnce);
    // If an object is gone by now, it was removed between the two looks: a key is never used a second time.
    const heads = await Promise.all(some.map(({ key }) => objects.head(key, signal)));
    found.push(...some.filter((_, i) => heads[i] !== null));
  }
  return found;
}

/** The most overdue objects that are told of one prefix; a verification lists no more in all. */
const mostOverdue = 1000;

/** Finds the objects that are in the store although they should have been removed minutes ago. */
export async function findOverdue(
  { db, objects, removes }: Pick<VerifyTools, 'db' | 'objects' | 'removes'>,
  prefix: string,
  { signal, add }: Omit<Search, 'rest'>,
): Promise<void> {
  if (removes?.() !== true) return;
  const overdue = await listOverdueRemovals(db, { tenants: null, prefix, limit: mostOverdue });
  for (let at = 0; at < overdue.length; at += headsAtOnce) {
    const some = overdue.slice(at, at + headsAtOnce);
    const heads = await Promise.all(some.map((one) => objects.head(one.object_key, signal)));
    add(some.filter((_, i) => heads[i] !== null).map(overdueObject));
  }
}

function overdueObject({ tenant, object_key: key, remove_after: at }: Removal): VerifyProblem {
  const message = `The object should have been removed at ${at} and is still there. What was deleted or erased may be in it. The log of the processes with the role retention tells why.`;
  return { ...objectProblem('object_overdue', key, message), tenant };
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
  const message = `No segment, no open move, no export and no removal to come names this object of ${formatCount(sizeBytes)} bytes in ${location}. No read needs it. Keep it while the database may be restored to an earlier state; otherwise remove it.`;
  return objectProblem('object_orphan', key, message);
}

/** A problem of an object of which the catalogue knows nothing but what its key tells. */
export function objectProblem(kind: ProblemKind, key: string, message: string): VerifyProblem {
  const { tenant, firstDay: first_day, lastDay: last_day } = partsOf(key);
  return { kind, tenant, object_key: key, store: null, first_day, last_day, message };
}

/**
 * The parts of an object's key. Its form is `records/tenant=<tenant>/<first day>_<last day>_<segment id>.parquet`, or
 * `exports/tenant=<tenant>/<export id>/<part>`. A part that the key does not tell is null.
 */
export function partsOf(
  key: string,
): Record<'tenant' | 'firstDay' | 'lastDay' | 'exportId', string | null> {
  const [, exported, exportedId = null] =
    /^exports\/tenant=([^/]+)\/([^/]+)\/[^/]+$/.exec(key) ?? [];
  const [, stored = '', name = ''] = /^records\/tenant=([^/]+)\/([^/]+)$/.exec(key) ?? [];
  const folder = exported ?? stored;
  const [, firstDay = null, lastDay = null] =
    /^(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d)_/.exec(name) ?? [];
  return { tenant: tenantOfFolder(`tenant=${folder}`), firstDay, lastDay, exportId: exportedId };
}

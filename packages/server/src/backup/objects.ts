import { AppError } from '../kernel/errors.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import { checkObject } from '../platform/objects/check-object.ts';
import { isObjectFault, type ObjectStore } from '../platform/objects/objects.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { type Manifest, objectKey, type SavedObject, type Step } from './manifest.ts';
import { isIntact, type Place } from './place.ts';
import { eachObject, type ObjectRow } from './queries.ts';
import { damaged, openLocally, pagesOfObjects, type ReadTools } from './read-files.ts';

const objectsAtOnce = 8;

export type ObjectSaver = {
  /**
   * Brings all objects that the database refers to into the place. Returns the pages of rows as they come, each when its
   * objects are in the place. What becomes of one that is missing or damaged, `onLacking` decides: it throws, or it is
   * in no page.
   */
  save(
    db: Queryable,
    options: { onLacking: (row: ObjectRow, fault: Error) => void; signal: AbortSignal },
  ): AsyncGenerator<ObjectRow[]>;
  /** How many bytes of objects were brought so far. */
  newBytes(): number;
};

/**
 * `sizes` says what the place holds, by key, and `trusted` which objects of it, as texts of `trustText`, need not be read
 * to know that they are what they should be. Any other object was read in this run, and its SHA-256 compared.
 */
export function createObjectSaver(tools: {
  readonly source: ObjectStore;
  readonly place: Place;
  readonly database: string;
  readonly spoolDir: string;
  readonly sizes: Map<string, number>;
  readonly trusted: ReadonlySet<string>;
  readonly onObject: (bytes: number) => void;
}): ObjectSaver {
  const { source, place, database, spoolDir, sizes, trusted } = tools;
  /** What this run has brought or read already. */
  const done = new Set<string>();
  let newBytes = 0;

  async function bring(row: ObjectRow, signal: AbortSignal): Promise<void> {
    const target = objectKey(database, row.key);
    if (done.has(row.key)) return;
    const isThere =
      sizes.get(target) === row.size_bytes &&
      (trusted.has(trustText(row)) || (await isIntact(place, { ...row, key: target }, signal)));
    if (!isThere) {
      const from = { store: source, key: row.key };
      const to = { store: place, key: target };
      await copyObject({ from, to, object: row }, { spoolDir, signal });
      sizes.set(target, row.size_bytes);
      newBytes += row.size_bytes;
    }
    done.add(row.key);
  }

  return {
    newBytes: () => newBytes,
    async *save(db, { onLacking, signal }) {
      for await (const page of eachObject(db)) {
        signal.throwIfAborted();
        const brought = await sideBySide(
          page,
          { atOnce: objectsAtOnce, signal },
          async (row, own): Promise<ObjectRow[]> => {
            try {
              await bring(row, own);
            } catch (error) {
              if (!isObjectFault(error)) throw error;
              onLacking(row, error);
              return [];
            } finally {
              tools.onObject(row.size_bytes);
            }
            return [row];
          },
        );
        yield brought.flat();
      }
    },
  };
}

/** Names an object with its content, as far as its reference tells it. */
export function trustText({
  key,
  size_bytes,
  sha256,
}: Pick<ObjectRow, 'key' | 'size_bytes' | 'sha256'>) {
  return `${key}\n${size_bytes}\n${sha256}`;
}

/** The 500 `segment_damaged` of a backup that would lack this object. */
export function lacking(row: ObjectRow, cause: Error): AppError {
  return new AppError('segment_damaged', {
    detail: `There is no backup: ${cause.message}. Run svcctl retention verify, and put the object ${row.key} back from an earlier backup. To save the rest without it: --allow-missing.`,
    cause,
  });
}

export type RestoredObjects = {
  /** How many were brought into the store. */
  readonly brought: number;
  /** How many the store lacks, because it may not be written. */
  readonly missing: number;
  /** The keys of those that are missing or damaged in the backup, and were passed over. */
  readonly damaged: readonly string[];
};

const atOnce = 8;

/**
 * Puts the objects of a backup under their keys into a store, those that are not there. With `mayWrite` false it only
 * counts them: the store is another database's. Throws `backup_damaged`, unless `skipsDamaged`.
 */
export async function restoreObjects(
  manifest: Manifest,
  tools: ReadTools & { readonly store: ObjectStore; readonly onStep: (step: Step) => void },
  { mayWrite, skipsDamaged }: { mayWrite: boolean; skipsDamaged: boolean },
): Promise<RestoredObjects> {
  const { store, place, signal } = tools;
  const skipped: string[] = [];
  const total = manifest.objects.count;
  let [brought, missing, done, bytes] = [0, 0, 0, 0];
  const restore = async (object: SavedObject) => {
    const found = await store.head(object.key, signal);
    if (found?.sizeBytes !== object.size_bytes) {
      if (mayWrite) {
        const key = objectKey(manifest.database, object.key);
        const fault = await bring(object, { ...tools, key });
        if (fault === null) brought += 1;
        else if (skipsDamaged) skipped.push(object.key);
        else throw damaged(place, key, 'is missing or is not what was written', fault);
      } else missing += 1;
    }
    done += 1;
    bytes += object.size_bytes;
    tools.onStep({ name: 'objects', done, total, bytes });
  };
  for await (const page of pagesOfObjects(manifest, tools)) {
    await sideBySide(page, { atOnce, signal }, restore);
  }
  return { brought, missing, damaged: skipped.sort() };
}

/** Returns what is wrong with the object of the backup; null when it lies in the store now. */
async function bring(
  object: SavedObject,
  { place, store, key, ...tools }: ReadTools & { store: ObjectStore; key: string },
): Promise<Error | null> {
  const from = { store: place, key };
  try {
    await copyObject({ from, to: { store, key: object.key }, object }, tools);
    return null;
  } catch (error) {
    if (isObjectFault(error)) return error;
    throw error;
  }
}

type Copy = {
  readonly from: { readonly store: ObjectStore; readonly key: string };
  readonly to: { readonly store: ObjectStore; readonly key: string };
  readonly object: { readonly size_bytes: number; readonly sha256: string };
};

/**
 * Copies an object from one store to another. Its SHA-256 is always compared by reading it here: before it is written, or
 * as it lies there where both are on one server of S3, which has copied it. Throws ObjectMissing and ObjectDamaged.
 */
export async function copyObject(
  { from, to, object }: Copy,
  tools: { spoolDir: string; signal: AbortSignal },
): Promise<void> {
  const { signal } = tools;
  if (await to.store.copyFrom?.(from.store, { from: from.key, to: to.key }, signal)) {
    if (await isIntact(to.store, { ...object, key: to.key }, signal)) return;
    await to.store.remove(to.key, signal);
  }
  const { path, release } = await openLocally(from.store, from.key, tools);
  const sha256 = Buffer.from(object.sha256, 'hex');
  try {
    await checkObject(path, { key: from.key, sizeBytes: object.size_bytes, sha256 }, { signal });
    // An object is never written to, so that the other store may link to it instead of copying it.
    await to.store.put(to.key, path, signal, { mayTake: true });
  } finally {
    await release();
  }
}

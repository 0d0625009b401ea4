import { AppError } from '../kernel/errors.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import { checkObject } from '../platform/objects/check-object.ts';
import { isObjectFault, type ObjectStore } from '../platform/objects/objects.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { type Manifest, objectKey, type SavedObject, type Step } from './manifest.ts';
import { isIntact, type Place } from './place.ts';
import { eachObject, type ObjectRow } from './queries.ts';
import { damaged, openLocally, pagesOfObjects, type ReadTools } from './read-files.ts';
import { bringSealed, openUnsealed, plainOf } from './seal-objects.ts';
import type { TenantKeys } from './tenant-keys.ts';

const objectsAtOnce = 8;

export type ObjectSaver = {
  /**
   * Brings all objects that the database refers to into the place. Returns pages of what is saved as they come, each when
   * its objects are in the place. What becomes of one that is missing or damaged, `onLacking` decides: it throws, or it is
   * in no page.
   */
  save(
    db: Queryable,
    options: { onLacking: (row: ObjectRow, fault: Error) => void; signal: AbortSignal },
  ): AsyncGenerator<SavedObject[]>;
  /** How many bytes of objects were brought so far. */
  newBytes(): number;
};

/**
 * `sizes` says what the place holds, by key, and `trusted` which objects of it, by texts of `trustText`, need not be read
 * to know that they are what they should be, with the SHA-256 of their files. Any other object was read in this run, and
 * its SHA-256 compared.
 */
export function createObjectSaver(tools: {
  readonly source: ObjectStore;
  readonly place: Place;
  readonly database: string;
  readonly spoolDir: string;
  readonly sizes: Map<string, number>;
  readonly trusted: ReadonlyMap<string, string>;
  /** By which objects of tenants are encrypted, if they are. */
  readonly keys: TenantKeys | undefined;
  readonly onObject: (bytes: number) => void;
}): ObjectSaver {
  const { source, place, database, spoolDir, sizes, trusted } = tools;
  /** What this run has brought or read already. */
  const done = new Map<string, SavedObject>();
  let newBytes = 0;

  async function bring(row: ObjectRow, signal: AbortSignal): Promise<SavedObject> {
    const key = (await tools.keys?.of(row.tenant)) ?? null;
    const text = trustText(row, key?.id);
    // Of what a move writes the records are told once it is a segment.
    const told = `${text}\n${row.digest ?? ''}`;
    const known = done.get(told);
    if (known !== undefined) return known;
    const plain = toSaved(row);
    const own = { ...tools, signal, trusted: trusted.get(text) };
    const { saved, newBytes: more } =
      key === null ? await bringPlain(plain, own) : await bringSealed(plain, key, own);
    newBytes += more;
    done.set(told, saved);
    return saved;
  }

  async function bringPlain(
    saved: SavedObject,
    { trusted, signal }: { trusted: string | undefined; signal: AbortSignal },
  ) {
    const target = objectKey(database, saved);
    const isThere =
      sizes.get(target) === saved.size_bytes &&
      (trusted !== undefined || (await isIntact(place, { ...saved, key: target }, signal)));
    if (isThere) return { saved, newBytes: 0 };
    const from = { store: source, key: saved.key };
    const to = { store: place, key: target };
    await copyObject({ from, to, object: saved }, { spoolDir, signal });
    sizes.set(target, saved.size_bytes);
    return { saved, newBytes: saved.size_bytes };
  }

  return {
    newBytes: () => newBytes,
    async *save(db, { onLacking, signal }) {
      for await (const page of eachObject(db)) {
        signal.throwIfAborted();
        const brought = await sideBySide(
          page,
          { atOnce: objectsAtOnce, signal },
          async (row, own): Promise<SavedObject[]> => {
            try {
              return [await bring(row, own)];
            } catch (error) {
              if (!isObjectFault(error)) throw error;
              onLacking(row, error);
              return [];
            } finally {
              tools.onObject(row.size_bytes);
            }
          },
        );
        yield brought.flat();
      }
    },
  };
}

/** Names an object with its content, as far as its reference tells it, and with the key that encrypts it. */
export function trustText(
  { key, size_bytes, sha256 }: Pick<SavedObject, 'key' | 'size_bytes' | 'sha256'>,
  sealedBy = '',
): string {
  return `${key}\n${size_bytes}\n${sha256}\n${sealedBy}`;
}

export function toSaved({ count, bytes, digest, ...object }: ObjectRow): SavedObject {
  const isSegment = count !== null && bytes !== null && digest !== null;
  return { ...object, records: isSegment ? { count, bytes, digest } : null };
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
 * counts them: the store is another database's. Those of tenants whose keys are gone are left out. Throws
 * `backup_damaged`, unless `skipsDamaged`.
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
    const plain = plainOf(object, tools.find);
    const found = plain && (await store.head(object.key, signal));
    if (plain !== null && found?.sizeBytes !== plain.size_bytes) {
      if (mayWrite) {
        const key = objectKey(manifest.database, object);
        const fault = await bring(object, plain, { ...tools, key });
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
  plain: SavedObject,
  { store, key, ...tools }: ReadTools & { store: ObjectStore; key: string },
): Promise<Error | null> {
  const { place, find, signal } = tools;
  const from = { store: place, key };
  try {
    if (object.sealed === undefined || find === undefined) {
      await copyObject({ from, to: { store, key: object.key }, object }, tools);
      return null;
    }
    const { path, release } = await openUnsealed({ key, plain }, { ...tools, find });
    try {
      await store.put(object.key, path, signal, { mayTake: true });
    } finally {
      await release();
    }
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

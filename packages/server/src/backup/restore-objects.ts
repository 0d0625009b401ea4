import { isObjectFault, type ObjectStore } from '../platform/objects/objects.ts';
import { copyObject } from './copy-object.ts';
import { type Manifest, objectKey, type SavedObject } from './manifest.ts';
import { damaged, eachSavedObject, type ReadTools } from './read-files.ts';
import type { Step } from './save.ts';
import { sideBySide } from './side-by-side.ts';

export type RestoredObjects = {
  /** How many were brought into the store. */
  readonly brought: number;
  /** How many the store lacks, because it may not be written. */
  readonly missing: number;
  /** The keys of those that are missing or damaged in the backup, and were passed over. */
  readonly damaged: readonly string[];
};

const atOnce = 8;
const pageItems = 500;

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
  let page: SavedObject[] = [];
  const flush = async () => {
    await sideBySide(page, { atOnce, signal }, restore);
    page = [];
  };
  for await (const object of eachSavedObject(manifest, tools)) {
    page.push(object);
    if (page.length === pageItems) await flush();
  }
  await flush();
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

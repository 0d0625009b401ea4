import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkObject } from '../platform/objects/check-object.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import { isIntact } from './place.ts';

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
  { spoolDir, signal }: { spoolDir: string; signal: AbortSignal },
): Promise<void> {
  if (await to.store.copyFrom?.(from.store, { from: from.key, to: to.key }, signal)) {
    if (await isIntact(to.store, { ...object, key: to.key }, signal)) return;
    await to.store.remove(to.key, signal);
  }
  const inPlace = from.store.pathOf(from.key);
  const path = inPlace ?? join(spoolDir, `object-${process.pid}-${randomUUID()}`);
  const sha256 = Buffer.from(object.sha256, 'hex');
  try {
    if (inPlace === null) await from.store.get(from.key, path, signal);
    await checkObject(path, { key: from.key, sizeBytes: object.size_bytes, sha256 }, { signal });
    // An object is never written to, so that the other store may link to it instead of copying it.
    await to.store.put(to.key, path, signal, { mayTake: true });
  } finally {
    if (inPlace === null) await rm(path, { force: true });
  }
}

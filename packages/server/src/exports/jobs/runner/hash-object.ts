import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ObjectDamaged,
  ObjectMissing,
  type ObjectRef,
  type ObjectStore,
} from '../../../platform/objects/objects.ts';
import { systemCode } from '../../../platform/objects/store-errors.ts';

const chunkBytes = 256 * 1024;

/**
 * A hash with an object added to it, as the object lies in the store; the hash that was given stays as it
 * is. Throws ObjectMissing, and ObjectDamaged when the object is not what its reference says.
 */
export async function hashObject(
  hash: Hash,
  ref: ObjectRef,
  { store, spoolDir, signal }: { store: ObjectStore; spoolDir: string; signal: AbortSignal },
): Promise<Hash> {
  const inPlace = store.pathOf(ref.key);
  if (inPlace !== null) return addFile(hash, ref, { path: inPlace, signal });
  const dir = await mkdtemp(join(spoolDir, 'export-'));
  try {
    const path = join(dir, 'object');
    await store.get(ref.key, path, signal);
    return await addFile(hash, ref, { path, signal });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Reads it once for both: its own hash, and that of what it is a part of. */
async function addFile(
  hash: Hash,
  ref: ObjectRef,
  { path, signal }: { path: string; signal: AbortSignal },
): Promise<Hash> {
  const [whole, own] = [hash.copy(), createHash('sha256')];
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) {
      signal.throwIfAborted();
      whole.update(chunk as Buffer);
      own.update(chunk as Buffer);
    }
  } catch (error) {
    throw systemCode(error) === 'ENOENT' ? new ObjectMissing(ref.key) : error;
  }
  if (own.digest().equals(ref.sha256)) return whole;
  throw new ObjectDamaged(ref.key, 'is not what was written: its SHA-256 differs');
}

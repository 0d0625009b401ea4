import { join } from 'node:path';
import { createObjectChecks } from '../../platform/objects/check-object.ts';
import type { MoverContext } from './context.ts';
import type { MoveSegment } from './move.ts';

/**
 * Reads a segment's object anew from the store into a file of its own, and answers its path. Throws
 * ObjectMissing, ObjectDamaged.
 */
export async function fetchSegment(
  { store }: MoverContext,
  segment: MoveSegment,
  { dir, signal }: { dir: string; signal: AbortSignal },
): Promise<string> {
  const { segment_id, object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  if (sizeBytes === null || sha256 === null) {
    throw new Error(`the journal has no checksum of the object ${key}`);
  }
  const path = join(dir, `${segment_id}.fetched.parquet`);
  await store.get(key, path, signal);
  await createObjectChecks().check(path, { key, sizeBytes, sha256 }, { anew: true, signal });
  return path;
}

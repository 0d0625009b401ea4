import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../make-folders.ts';
import type { ByteStretch, ObjectStore } from './objects.ts';

/** Does work in a folder of its own below `spoolDir`, and removes that folder whatever comes of the work. */
export async function inSpoolFolder<T>(
  spoolDir: string,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  await makeFolders(spoolDir, 0o700);
  const dir = await mkdtemp(join(spoolDir, 'work-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Reads a small object into memory, or a stretch of one. Throws what `get` throws. */
export async function getBytes(
  store: ObjectStore,
  key: string,
  options: { signal: AbortSignal; stretch?: ByteStretch & { readonly sizeBytes: number } },
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const sink = {
    begin: () => void pieces.splice(0),
    write: (bytes: Buffer) => void pieces.push(Buffer.from(bytes)),
  };
  await store.get(key, sink, options.signal, options.stretch);
  return Buffer.concat(pieces);
}

/** Stores what is held in memory as an object. */
export function putBytes(
  { store, spoolDir }: { store: ObjectStore; spoolDir: string },
  { key, bytes, signal }: { key: string; bytes: string | Buffer; signal: AbortSignal },
): Promise<void> {
  return inSpoolFolder(spoolDir, async (dir) => {
    const path = join(dir, 'bytes');
    await writeFile(path, bytes, { mode: 0o600 });
    await store.put(key, path, signal, { mayTake: true });
  });
}

import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkObject } from '../platform/objects/check-object.ts';
import { isObjectFault, type ObjectStore } from '../platform/objects/objects.ts';
import { hashFile } from '../platform/thread-hash.ts';
import { objectKey, type PlainObject, type SavedObject } from './manifest.ts';
import { openLocally, type ReadTools } from './read-files.ts';
import {
  type FindKey,
  type FrameKey,
  openSealed,
  openText,
  sealedSize,
  sealFile,
  sealFrame,
} from './seal.ts';

type Tools = Omit<ReadTools, 'find'>;

/**
 * Brings an object into the place, encrypted by a key, unless it is there: `trusted` is the SHA-256 of the file by which
 * it need not be read. Throws ObjectMissing and ObjectDamaged.
 */
export async function bringSealed(
  plain: SavedObject,
  key: FrameKey,
  tools: Tools & {
    source: ObjectStore;
    database: string;
    sizes: Map<string, number>;
    trusted: string | undefined;
  },
): Promise<{ saved: SavedObject; newBytes: number }> {
  const { place, source, sizes, trusted, signal } = tools;
  const { size_bytes, sha256, records, ...object } = plain;
  const about = sealFrame(key, Buffer.from(JSON.stringify({ size_bytes, sha256, records })));
  const sealed = { key: key.id, about: about.toString('base64') };
  const target = objectKey(tools.database, { key: plain.key, sealed });
  const saved = (sum: string) => ({
    ...object,
    size_bytes: sealedSize(size_bytes),
    sha256: sum,
    records: null,
    sealed,
  });
  if (sizes.get(target) === sealedSize(size_bytes)) {
    const found = trusted ?? (await sumIfIntact(target, plain, { ...tools, key }));
    if (found !== null) return { saved: saved(found), newBytes: 0 };
  }
  const path = newPath(tools);
  const from = await openLocally(source, plain.key, tools);
  try {
    await checkObject(from.path, refOf(plain), { signal });
    const sum = await sealFile(key, { from: from.path, to: path }, signal);
    await place.put(target, path, signal, { mayTake: true });
    sizes.set(target, sealedSize(size_bytes));
    return { saved: saved(sum), newBytes: sealedSize(size_bytes) };
  } finally {
    await from.release();
    await rm(path, { force: true });
  }
}

/** The SHA-256 of the encrypted file, where it holds this object. */
async function sumIfIntact(
  target: string,
  { size_bytes, sha256 }: PlainObject,
  { key, ...tools }: Tools & { key: FrameKey },
): Promise<string | null> {
  let local: Awaited<ReturnType<typeof openLocally>> | undefined;
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    local = await openLocally(tools.place, target, tools);
    for await (const piece of openSealed(local.path, (id) => (id === key.id ? key.bytes : null))) {
      tools.signal.throwIfAborted();
      hash.update(piece);
      bytes += piece.length;
    }
    if (bytes !== size_bytes || hash.digest('hex') !== sha256) return null;
    return (await hashFile(local.path, { signal: tools.signal })).toString('hex');
  } catch (error) {
    if (isObjectFault(error)) return null;
    throw error;
  } finally {
    await local?.release();
  }
}

/** What an object of a list is when it is decrypted; null where its key is gone. */
export function plainOf(object: SavedObject, find: FindKey | undefined): SavedObject | null {
  const { sealed, ...rest } = object;
  if (sealed === undefined) return object;
  const about = find === undefined ? null : openText(sealed.about, find);
  return about === null ? null : { ...rest, ...(JSON.parse(about) as PlainObject) };
}

/** Opens an object of a place as a local file that is decrypted and proved. Throws ObjectMissing and ObjectDamaged. */
export async function openUnsealed(
  { key, plain }: { key: string; plain: PlainObject },
  { find, ...tools }: Tools & { find: FindKey },
): Promise<{ path: string; release: () => Promise<void> }> {
  const { place, signal } = tools;
  const path = newPath(tools);
  const local = await openLocally(place, key, tools);
  try {
    const target = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    await pipeline(openSealed(local.path, find), target, { signal });
    await checkObject(path, refOf({ ...plain, key }), { signal });
    return { path, release: () => rm(path, { force: true }) };
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await local.release();
  }
}

const newPath = ({ spoolDir }: Pick<Tools, 'spoolDir'>) =>
  join(spoolDir, `object-${process.pid}-${randomUUID()}`);

export function refOf({ key, size_bytes, sha256 }: Omit<PlainObject, 'records'> & { key: string }) {
  return { key, sizeBytes: size_bytes, sha256: Buffer.from(sha256, 'hex') };
}

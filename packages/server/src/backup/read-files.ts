import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { AppError } from '../kernel/errors.ts';
import {
  fromFileSystem,
  isObjectFault,
  ObjectMissing,
  type ObjectStore,
  systemCode,
} from '../platform/objects/objects.ts';
import { hashFile } from '../platform/thread-hash.ts';
import { transformed } from '../platform/work/transformed.ts';
import {
  filesOf,
  type Manifest,
  objectKey,
  type PackedFile,
  type SavedObject,
} from './manifest.ts';
import { listBackups, type Place, readManifest, toPlaceError } from './place.ts';
import type { FindKey } from './seal.ts';
import { openRows } from './seal-rows.ts';

export type ReadTools = {
  readonly place: Place;
  /** Files of a place that is no file system are fetched into this folder. */
  readonly spoolDir: string;
  readonly signal: AbortSignal;
  /** Finds the keys of tenants. Without it, nothing that they encrypt is read. */
  readonly find?: FindKey | undefined;
};

const chunkBytes = 256 * 1024;

/**
 * Reads the rows of a file, unpacked. Throws `backup_damaged` when the file is missing or is not what was written, before
 * the first row: Brotli makes other rows of a byte that was changed. When the rows are not as many as were written it
 * throws behind the last one: whoever does something with them must be able to undo it. `onLeftOut` is told of rows of
 * tenants whose keys are gone.
 */
export async function* readRows(
  file: PackedFile,
  tools: ReadTools & { onLeftOut?: (rows: number) => void },
): AsyncGenerator<Buffer> {
  const { place, signal, find = () => null } = tools;
  let rows = 0;
  const onLeftOut = (left: number) => {
    rows += left;
    tools.onLeftOut?.(left);
  };
  let local: Awaited<ReturnType<typeof openLocally>> | undefined;
  try {
    local = await openLocally(place, file.key, tools);
    const { path } = local;
    const { size } = await stat(path);
    const sha256 = (await hashFile(path, { signal })).toString('hex');
    if (size !== file.size_bytes || sha256 !== file.sha256) {
      throw damaged(place, file.key, `has ${size} bytes and the SHA-256 ${sha256}`);
    }
    const chunks = file.key.endsWith('.sealed')
      ? openRows(path, { find, onLeftOut })
      : unpacked(path, file.key, signal);
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) rows += 1;
      yield chunk;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) throw error;
    const code = systemCode(error);
    const isMissing = error instanceof ObjectMissing || code === 'ENOENT' || code === 'ENOTDIR';
    if (isMissing) throw damaged(place, file.key, 'is missing', error);
    if (isObjectFault(error)) throw damaged(place, file.key, 'cannot be decrypted', error);
    throw toPlaceError(fromFileSystem(error, `${file.key} cannot be read from ${place.location}`));
  } finally {
    await local?.release();
  }
  if (rows !== file.rows)
    throw damaged(place, file.key, `has ${rows} rows instead of ${file.rows}`);
}

function unpacked(path: string, key: string, signal: AbortSignal): AsyncIterable<Buffer> {
  const packed = createReadStream(path, { highWaterMark: chunkBytes });
  const open = key.endsWith('.gz') ? createGunzip : createBrotliDecompress;
  return transformed(packed, open({ chunkSize: chunkBytes }), { signal });
}

export function damaged(place: Place, key: string, what: string, cause?: unknown): AppError {
  return new AppError('backup_damaged', {
    detail: `${key} in ${place.location} ${what}. Use another backup: svcctl backup ls lists those that are there.`,
    members: { key },
    cause,
  });
}

/** The lines of a text that comes in chunks, without their ends. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, at);
      yield (rest.length === 0 ? line : Buffer.concat([...rest, line])).toString();
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
}

/** The ids of backups of the same database, newest first, that do without this key; none whose lists cannot be read. */
export async function listWithout(
  { database, id: own }: Manifest,
  key: string,
  tools: ReadTools,
): Promise<string[]> {
  const without: string[] = [];
  const others = await listBackups(tools.place, tools.signal);
  for (const name of others.reverse()) {
    if (name.database !== database || name.id === own) continue;
    try {
      const manifest = await readManifest(tools.place, name, tools.signal);
      let isNeeded = false;
      for await (const each of eachNeeded(manifest, tools)) {
        isNeeded = each.key === key;
        if (isNeeded) break;
      }
      if (!isNeeded) without.push(name.id);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'backup_place_unavailable') throw error;
    }
  }
  return without;
}

/** The objects that a backup needs, in the order in which it lists them. Throws `backup_damaged`. */
export async function* eachSavedObject(
  { objects }: Manifest,
  tools: ReadTools,
): AsyncGenerator<SavedObject> {
  for (const list of objects.lists) {
    for await (const line of linesOf(readRows(list, tools))) yield JSON.parse(line) as SavedObject;
  }
}

/** All that a backup needs in its place: files of rows, and objects by their keys there. Throws `backup_damaged`. */
export async function* eachNeeded(
  manifest: Manifest,
  tools: ReadTools,
): AsyncGenerator<{ key: string; size_bytes: number }> {
  yield* filesOf(manifest);
  for await (const object of eachSavedObject(manifest, tools)) {
    yield { key: objectKey(manifest.database, object), size_bytes: object.size_bytes };
  }
}

const pageItems = 500;

/** The objects that a backup needs, so many at once. */
export async function* pagesOfObjects(
  manifest: Manifest,
  tools: ReadTools,
): AsyncGenerator<SavedObject[]> {
  let page: SavedObject[] = [];
  for await (const object of eachSavedObject(manifest, tools)) {
    page.push(object);
    if (page.length < pageItems) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** An object of a store as a local file: where it lies, or fetched into the folder until it is released. */
export async function openLocally(
  store: ObjectStore,
  key: string,
  { spoolDir, signal }: Omit<ReadTools, 'place'>,
): Promise<{ path: string; release: () => Promise<void> }> {
  const inPlace = store.pathOf(key);
  if (inPlace !== null) return { path: inPlace, release: async () => {} };
  const path = join(spoolDir, `object-${process.pid}-${randomUUID()}`);
  const release = () => rm(path, { force: true });
  try {
    await store.get(key, path, signal);
  } catch (error) {
    await release();
    throw error;
  }
  return { path, release };
}

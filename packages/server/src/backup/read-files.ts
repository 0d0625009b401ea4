import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { AppError } from '../kernel/errors.ts';
import { fromFileSystem, ObjectMissing, systemCode } from '../platform/objects/objects.ts';
import { transformed } from '../platform/work/transformed.ts';
import { type Manifest, objectKey, type PackedFile, type SavedObject } from './manifest.ts';
import { listBackups, type Place, readManifest, toPlaceError } from './place.ts';

export type ReadTools = {
  readonly place: Place;
  /** Files of a place that is no file system are fetched into this folder. */
  readonly spoolDir: string;
  readonly signal: AbortSignal;
};

const chunkBytes = 256 * 1024;

/**
 * Reads the rows of a file, unpacked. Throws `backup_damaged` when the file is missing or is not what was written, at the
 * latest behind its last row: whoever does something with the rows must be able to undo it.
 */
export async function* readRows(
  file: PackedFile,
  { place, spoolDir, signal }: ReadTools,
): AsyncGenerator<Buffer> {
  const inPlace = place.pathOf(file.key);
  const path = inPlace ?? join(spoolDir, `read-${process.pid}-${randomUUID()}`);
  const hash = createHash('sha256');
  let [bytes, rows] = [0, 0];
  try {
    if (inPlace === null) await place.get(file.key, path, signal);
    const packed = async function* () {
      const chunks = createReadStream(path, { highWaterMark: chunkBytes });
      for await (const chunk of chunks as AsyncIterable<Buffer>) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    };
    const gunzip = createGunzip({ chunkSize: chunkBytes });
    for await (const chunk of transformed(packed(), gunzip, { signal })) {
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) rows += 1;
      yield chunk;
    }
  } catch (error) {
    signal.throwIfAborted();
    const code = systemCode(error);
    const isMissing = error instanceof ObjectMissing || code === 'ENOENT' || code === 'ENOTDIR';
    if (isMissing) throw damaged(place, file.key, 'is missing', error);
    if (isUnpackable(error)) throw damaged(place, file.key, 'cannot be unpacked', error);
    throw toPlaceError(fromFileSystem(error, `${file.key} cannot be read from ${place.location}`));
  } finally {
    if (inPlace === null) await rm(path, { force: true });
  }
  const sha256 = hash.digest('hex');
  if (bytes !== file.size_bytes || sha256 !== file.sha256) {
    throw damaged(place, file.key, `has ${bytes} bytes and the SHA-256 ${sha256}`);
  }
  if (rows !== file.rows)
    throw damaged(place, file.key, `has ${rows} rows instead of ${file.rows}`);
}

function isUnpackable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
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

/**
 * The ids of backups of the same database that do without the file or object with this key of the place, the newest
 * first. One whose own lists cannot be read is left out.
 */
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
      if (!(await needs(manifest, key, tools))) without.push(name.id);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'backup_place_unavailable') throw error;
    }
  }
  return without;
}

async function needs(manifest: Manifest, key: string, tools: ReadTools): Promise<boolean> {
  const { tables, objects, database } = manifest;
  const files = [
    ...tables.flatMap(({ parts }) => parts.flatMap((part) => part.files)),
    ...objects.lists,
  ];
  if (files.some((file) => file.key === key)) return true;
  for await (const object of eachSavedObject(manifest, tools)) {
    if (objectKey(database, object.key) === key) return true;
  }
  return false;
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

import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliCompress } from 'node:zlib';
import { fromFileSystem } from '../platform/objects/objects.ts';
import type { PackedFile } from './manifest.ts';
import { type Place, toPlaceError } from './place.ts';
import { createRowSealer, packParams } from './seal-rows.ts';
import type { TenantKeys } from './tenant-keys.ts';

const newline = 0x0a;
/** The bytes of a file's rows, unpacked: one transaction, which a killed restore repeats, and it lies in the spool. */
const usualFileBytes = 256 * 2 ** 20;
/** So many bytes are packed at once: row by row it took three times the CPU time. */
const batchBytes = 256 * 1024;

type Target = {
  readonly place: Place;
  /** The folder of the place below which the files lie. */
  readonly folder: string;
  readonly spoolDir: string;
  readonly signal: AbortSignal;
  /** How many bytes of rows begin a new file; Infinity for one file. */
  readonly fileBytes?: number | undefined;
  /** By which rows are encrypted: each has the name of its tenant before it, in a column of its own. */
  readonly keys?: Pick<TenantKeys, 'of'> | undefined;
  /** Whether a file that lies there is taken for what its name says, without being written again. */
  readonly isTrusting: boolean;
  readonly onRows?: (rows: number) => void;
};

/** Packs rows, a line each, into files named by their SHA-256: none is written twice. Returns files and new bytes. */
export async function packRows(
  rows: AsyncIterable<Buffer>,
  target: Target,
): Promise<{ files: PackedFile[]; newBytes: number }> {
  const { fileBytes = usualFileBytes, signal } = target;
  const files: PackedFile[] = [];
  let newBytes = 0;
  let pack: Pack | null = null;
  const end = async () => {
    if (pack === null) return;
    const { file, isNew } = await store(await pack.finish(), target);
    pack = null;
    files.push(file);
    if (isNew) newBytes += file.size_bytes;
  };
  try {
    for await (const batch of inBatches(rows)) {
      signal.throwIfAborted();
      for (let rest = batch; rest.length > 0; ) {
        pack ??= openPack(target);
        // A file ends behind the row with which it reaches its size.
        const room = Math.max(0, fileBytes - pack.rawBytes() - 1);
        const last = room < rest.length ? rest.indexOf(newline, room) : -1;
        const head = last < 0 ? rest : rest.subarray(0, last + 1);
        const count = countLines(head);
        await pack.write(head, count);
        target.onRows?.(count);
        rest = rest.subarray(head.length);
        if (last >= 0) await end();
      }
    }
    await end();
    return { files, newBytes };
  } catch (error) {
    await pack?.giveUp();
    throw error;
  }
}

async function* inBatches(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [pieces, bytes]: [Buffer[], number] = [[], 0];
  for await (const piece of rows) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes < batchBytes) continue;
    yield Buffer.concat(pieces);
    [pieces, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(pieces);
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

type Packed = { path: string; rows: number; size_bytes: number; sha256: string };

type Pack = {
  rawBytes(): number;
  write(bytes: Buffer, rows: number): Promise<void>;
  finish(): Promise<Packed>;
  giveUp(): Promise<void>;
};

function openPack({ spoolDir, keys }: Target): Pack {
  const path = join(spoolDir, `rows-${process.pid}-${randomUUID()}`);
  const packer =
    keys === undefined
      ? createBrotliCompress({ params: packParams, chunkSize: batchBytes })
      : createRowSealer(keys);
  const hash = createHash('sha256');
  let [raw, rows, sizeBytes] = [0, 0, 0];
  const done = pipeline(
    packer,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        sizeBytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(path, { flags: 'wx', mode: 0o600 }),
  );
  const written = done.catch((error: unknown) => {
    throw toPlaceError(fromFileSystem(error, `Rows cannot be written to ${path}`));
  });
  // Whoever writes or finishes gets the error.
  written.catch(() => {});
  return {
    rawBytes: () => raw,
    async write(bytes, count) {
      raw += bytes.length;
      rows += count;
      if (packer.write(bytes)) return;
      // When the file cannot be written, `written` knows why.
      await Promise.race([once(packer, 'drain').catch(() => written), written]);
    },
    async finish() {
      packer.end();
      await written;
      return { path, rows, size_bytes: sizeBytes, sha256: hash.digest('hex') };
    },
    async giveUp() {
      packer.destroy();
      await written.catch(() => {});
      await rm(path, { force: true });
    },
  };
}

async function store(
  { path, ...packed }: Packed,
  { place, folder, keys, isTrusting, signal }: Target,
): Promise<{ file: PackedFile; isNew: boolean }> {
  const form = keys === undefined ? 'br' : 'sealed';
  const file = { key: `${folder}/${packed.sha256}.${form}`, ...packed };
  try {
    const found = isTrusting ? await place.head(file.key, signal) : null;
    const isNew = found?.sizeBytes !== file.size_bytes;
    if (isNew) await place.put(file.key, path, signal, { mayTake: true });
    return { file, isNew };
  } finally {
    await rm(path, { force: true });
  }
}

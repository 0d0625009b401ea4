import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../kernel/errors.ts';
import { measureSlice, type Slice } from '../../../records/index.ts';
import { compress } from '../../formats/compress.ts';
import type { FileFormat } from '../../formats/format.ts';
import type { Compression } from '../../values.ts';
import { partKey, type StoredJob } from '../job.ts';
import { type WorkContext, whileHeld } from './context.ts';
import { type DoneRow, finishPart, type PartRow, startPart } from './queries.ts';

export type PartCall = {
  readonly job: StoredJob & { readonly runner: string };
  readonly format: FileFormat;
  readonly signal: AbortSignal;
  /** Is called with the number of rows of this part that are encoded by now. */
  readonly onRows: (rows: number) => void;
};

/**
 * Makes one part of a file: its rows are written, read back, compressed and stored as an object. The part counts as
 * done when its row in the database says so, which is written last. Throws `JobLost` when the job belongs to another
 * runner by then.
 */
export async function writePart(
  context: WorkContext,
  part: PartRow,
  call: PartCall,
): Promise<DoneRow> {
  const { db, store, source } = context;
  const { job, signal } = call;
  const objectKey = partKey(job, part.number);
  await whileHeld(db, job, (connection) =>
    startPart(connection, job, { number: part.number, objectKey }),
  );
  const dir = await mkdtemp(join(source.spoolDir, 'export-'));
  try {
    const slice = partSlice(job.slice, part);
    const body = await writeBody(context, slice, { ...call, path: join(dir, 'body') });
    const digest = await proveBody(context, slice, { ...call, ...body, dir });
    const { compression } = job.options;
    const packed =
      compression === 'none'
        ? body
        : await packBody(body.path, join(dir, 'packed'), { compression, signal });
    await store.put(objectKey, packed.path, signal, { mayTake: true });
    const done: DoneRow = {
      number: part.number,
      objectKey,
      rows: body.rows,
      digest,
      sizeBytes: packed.sizeBytes,
      sha256: packed.sha256,
      bodyBytes: body.sizeBytes,
      layout: body.layout,
    };
    signal.throwIfAborted();
    await whileHeld(db, job, (connection) => finishPart(connection, job, done));
    return done;
  } catch (error) {
    // If the object cannot be removed now, a sweep finds it in the folder of the job.
    if (signal.aborted) await store.remove(objectKey).catch(() => {});
    throw error;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The records of a pinned slice that are in a part. */
export function partSlice(slice: Slice, part: PartRow): Slice {
  const range = {
    first: { store: part.first_store, day: part.first_day },
    last: { store: part.last_store, day: part.last_day },
    minDay: part.min_day,
    maxDay: part.max_day,
  };
  return { ...slice, range };
}

type Written = { path: string; rows: number; sizeBytes: number; sha256: Buffer; layout: unknown };

/**
 * Writes the rows of a part into a file. It reads in a snapshot of its own: the slice is pinned, so every part sees the
 * same records in any snapshot.
 */
async function writeBody(
  { source }: WorkContext,
  slice: Slice,
  { format, signal, onRows, path }: PartCall & { path: string },
): Promise<Written> {
  signal.throwIfAborted();
  // The rows are not counted first: the part is read back, and all parts together are compared with what was pinned.
  const body = format.startBody(source, slice, { countsFirst: false });
  const close = () => void body.close();
  signal.addEventListener('abort', close, { once: true });
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'wx', 0o600);
    let sizeBytes = 0;
    const hash = createHash('sha256');
    for await (const chunk of body.chunks()) {
      signal.throwIfAborted();
      const written = writeAll(file, chunk);
      hash.update(chunk);
      await written;
      sizeBytes += chunk.length;
      onRows(body.rowsSoFar());
    }
    signal.throwIfAborted();
    const rows = await body.rowCount;
    return { path, rows, sizeBytes, sha256: hash.digest(), layout: body.layout() };
  } finally {
    signal.removeEventListener('abort', close);
    await file?.close();
    await body.close();
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    const { bytesWritten } = await file.write(bytes, at);
    at += bytesWritten;
  }
}

/**
 * Reads the body back. Returns the digest of what is in it or, when the file lacks columns that the digest needs, that
 * of the records in the database.
 */
async function proveBody(
  { source, db }: WorkContext,
  slice: Slice,
  { format, path, rows, layout, dir, signal }: PartCall & Written & { dir: string },
): Promise<string> {
  const proof = await format.prove(source.cold.duckdb, { path, layout, rows, dir, signal });
  if (proof.rows !== rows) {
    throw new AppError('internal_error', {
      detail: `A part of the file was read back with ${proof.rows} rows instead of ${rows}.`,
    });
  }
  if (proof.digest !== null) return proof.digest;
  signal.throwIfAborted();
  return (await measureSlice(db, slice, source.cold)).digest;
}

/** Compresses the body into another file, in the form in which it is stored. */
async function packBody(
  path: string,
  target: string,
  { compression, signal }: { compression: Compression; signal: AbortSignal },
): Promise<{ path: string; sizeBytes: number; sha256: Buffer }> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const file = await open(target, 'wx', 0o600);
  try {
    const read: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: 1024 * 1024 });
    for await (const chunk of compress(read, compression)) {
      signal.throwIfAborted();
      hash.update(chunk);
      sizeBytes += chunk.length;
      await writeAll(file, chunk);
    }
  } finally {
    await file.close();
  }
  // The disk need not hold both files at once.
  await rm(path);
  return { path: target, sizeBytes, sha256: hash.digest() };
}

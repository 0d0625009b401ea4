import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import type { Hold } from '../../platform/jobs/held.ts';
import type { Held } from '../../platform/jobs/held-queries.ts';
import { measureSlice, type Slice } from '../../records/index.ts';
import { compress } from '../formats/compress.ts';
import type { FileFormat } from '../formats/format.ts';
import type { Compression } from '../values.ts';
import type { WorkContext } from './context.ts';
import { partKey, type StoredJob } from './job.ts';
import { type DonePart, finishPart, type PartRow, startPart } from './queries.ts';

export type PartCall = {
  readonly job: StoredJob & Held;
  readonly write: Hold['write'];
  readonly format: FileFormat;
  readonly signal: AbortSignal;
  /** Is called with the number of rows of this part that are encoded by now. */
  readonly onRows: (rows: number) => void;
};

/** One of so many parts of a file is read back, beginning with the first. */
const partsPerSample = 16;

/**
 * Whether a part is always read back, so that its digest is computed from what is in it. For other parts the digest of
 * the records as they were read to be encoded is enough, if it is known. To read Parquet back takes no longer than to
 * compute that.
 */
export function isReadBack({ number }: { number: number }, { options }: StoredJob): boolean {
  return options.format === 'parquet' || number % partsPerSample === 1;
}

/**
 * Makes one part of a file: its rows are encoded, proved and stored as an object. The part counts as done when its row
 * in the database says so, which is written last. Then `use` gets the path of the file that is the object or, where the
 * store is elsewhere, was sent and acknowledged as that; it may be gone afterwards. Throws `JobLost` when the job belongs
 * to another runner by then.
 */
export async function writePart<T>(
  context: WorkContext,
  part: PartRow,
  call: PartCall,
  use: (done: DonePart, path: string) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(context.source.spoolDir, 'export-'));
  try {
    const { done, path } = await storePart(context, part, { ...call, dir });
    return await use(done, context.store.pathOf(done.object_key) ?? path);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function storePart(
  context: WorkContext,
  part: PartRow,
  call: PartCall & { dir: string },
): Promise<{ done: DonePart; path: string }> {
  const { store } = context;
  const { job, write, signal, dir } = call;
  const objectKey = partKey(job, part.number);
  await write((connection) => startPart(connection, job, { number: part.number, objectKey }));
  const { compression } = job.options;
  const isPacked = compression !== 'none';
  const [bodyPath, packedPath] = [join(dir, 'body'), join(dir, 'packed')];
  const path = isPacked ? packedPath : bodyPath;
  const begun = store.beginPut?.(objectKey, path, signal);
  const onGrown = (bytes: number) => begun?.grown(bytes);
  try {
    const slice = partSlice(job.slice, part);
    const onBytes = isPacked ? () => {} : onGrown;
    const body = await writeBody(context, slice, { ...call, path: bodyPath, onBytes });
    const digest =
      body.digest === null || isReadBack(part, job)
        ? await proveBody(context, slice, { ...call, ...body })
        : body.digest;
    const packed = isPacked
      ? await packBody(body, packedPath, { compression, signal, onBytes: onGrown })
      : body;
    if (begun === undefined) await store.put(objectKey, path, signal, { mayTake: true });
    else await begun.finish();
    const done: DonePart = {
      number: part.number,
      object_key: objectKey,
      rows: body.rows,
      digest,
      size_bytes: packed.sizeBytes,
      sha256: packed.sha256,
      body_bytes: body.sizeBytes,
      layout: body.layout,
    };
    signal.throwIfAborted();
    await write((connection) => finishPart(connection, job, done));
    return { done, path };
  } catch (error) {
    await begun?.giveUp();
    // If the object cannot be removed now, a sweep finds it in the folder of the job.
    if (signal.aborted) await store.remove(objectKey).catch(() => {});
    throw error;
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

/** Is called with the number of bytes that are in the file by now. */
type OnBytes = (bytes: number) => void;

type PartFile = { path: string; sizeBytes: number; sha256: Buffer };
type Written = PartFile & { rows: number; digest: string | null; layout: unknown };

/**
 * Writes the rows of a part into a file. It reads in a snapshot of its own: the slice is pinned, so every part sees the
 * same records in any snapshot.
 */
async function writeBody(
  { source, pace }: WorkContext,
  slice: Slice,
  { format, signal, onRows, onBytes, path }: PartCall & { path: string; onBytes: OnBytes },
): Promise<Written> {
  signal.throwIfAborted();
  // The rows are not counted first: all parts together are compared with what was pinned.
  const body = format.startBody(source, slice, { countsFirst: false, sumsDigest: true });
  const close = () => void body.close();
  signal.addEventListener('abort', close, { once: true });
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'wx', 0o600);
    let sizeBytes = 0;
    const hash = createHash('sha256');
    const rest = pace.begin();
    for await (const chunk of body.chunks()) {
      signal.throwIfAborted();
      const written = writeAll(file, chunk);
      hash.update(chunk);
      await written;
      sizeBytes += chunk.length;
      onBytes(sizeBytes);
      onRows(body.rowsSoFar());
      await rest(signal);
    }
    signal.throwIfAborted();
    const rows = await body.rowCount;
    const [digest, layout] = [body.digest(), body.layout()];
    return { path, rows, sizeBytes, sha256: hash.digest(), digest, layout };
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
 * of the records as they were read.
 */
async function proveBody(
  { source, db }: WorkContext,
  slice: Slice,
  { format, path, rows, digest, layout, dir, signal }: PartCall & Written & { dir: string },
): Promise<string> {
  const proof = await format.prove(source.cold.duckdb, { path, layout, rows, dir, signal });
  if (proof.rows !== rows) {
    throw new AppError('internal_error', {
      detail: `A part of the file was read back with ${proof.rows} rows instead of ${rows}.`,
    });
  }
  if (proof.digest !== null && digest !== null && proof.digest !== digest) {
    throw new AppError('internal_error', {
      detail: 'A part of the file was read back with other records than were encoded.',
    });
  }
  const known = proof.digest ?? digest;
  if (known !== null) return known;
  signal.throwIfAborted();
  return (await measureSlice(db, slice, source.cold)).digest;
}

/**
 * Compresses the body into another file, in the form in which it is stored. Throws when the body is not read as it was
 * written, because nobody else may have read it back.
 */
async function packBody(
  body: PartFile,
  target: string,
  {
    compression,
    signal,
    onBytes,
  }: { compression: Compression; signal: AbortSignal; onBytes: OnBytes },
): Promise<PartFile> {
  const plain = createHash('sha256');
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const read = async function* () {
    const chunks = createReadStream(body.path, { highWaterMark: 1024 * 1024 });
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      plain.update(chunk);
      yield chunk;
    }
  };
  const file = await open(target, 'wx', 0o600);
  try {
    for await (const chunk of compress(read(), compression)) {
      signal.throwIfAborted();
      hash.update(chunk);
      sizeBytes += chunk.length;
      await writeAll(file, chunk);
      onBytes(sizeBytes);
    }
  } finally {
    await file.close();
  }
  if (!plain.digest().equals(body.sha256)) {
    throw new AppError('internal_error', {
      detail: 'A part of the file was read from the disk with other bytes than were written.',
    });
  }
  // The disk need not hold both files at once.
  await rm(body.path);
  return { path: target, sizeBytes, sha256: hash.digest() };
}

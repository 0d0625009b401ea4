import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { inSpoolFolder } from '../../platform/objects/spool.ts';
import { ThreadHash } from '../../platform/thread-hash.ts';
import { measureSlice, type Slice } from '../../records/index.ts';
import { bytesOf, type RowPiece } from '../encode/chunk-files.ts';
import { compress } from '../formats/compress.ts';
import type { FileFormat } from '../formats/format.ts';
import type { Compression } from '../values.ts';
import { sliceOfPart } from './bundle-splits.ts';
import type { Hold, WorkContext } from './context.ts';
import { type Held, partKey, type StoredJob } from './job.ts';
import { type DonePart, finishPart, type PartRow, startPart } from './queries.ts';

export type PartCall = {
  readonly job: StoredJob & Held;
  readonly write: Hold['write'];
  readonly format: FileFormat;
  readonly signal: AbortSignal;
  /** Is called with the number of rows of this part that are encoded by now. */
  readonly onRows: (rows: number) => void;
  /** The digest that was pinned, if the file has only this part; otherwise null. */
  readonly pinned: string | null;
};

/** One of so many parts of a file is read back, beginning with the first. */
const partsPerSample = 16;

/** Whether a part is always read back. For Parquet that takes no longer than to sum the digest where it is encoded. */
export function isReadBack({ number }: { number: number }, { options }: StoredJob): boolean {
  const isParquet = options.format === 'parquet' || options.format === 'bundle';
  return isParquet || number % partsPerSample === 1;
}

/**
 * Encodes, proves and stores a part. It is done once its row says so, which is written last. Then `use` gets the path
 * of the file that is, or was sent as, the object. Throws `JobLost` when the job is another runner's.
 */
export async function writePart<T>(
  context: WorkContext,
  part: PartRow,
  call: PartCall,
  use: (done: DonePart, path: string) => Promise<T>,
): Promise<T> {
  return inSpoolFolder(context.source.spoolDir, async (dir) => {
    const { done, path } = await storePart(context, part, { ...call, dir });
    return use(done, context.store.pathOf(done.object_key) ?? path);
  });
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
  const path = join(dir, 'part');
  let mayCount = false;
  try {
    const slice = sliceOfPart(job, part);
    const written = await writeRows(context, slice, { ...call, path });
    const { rows, sha256, layout } = written;
    const digest =
      written.digest === null || isReadBack(part, job)
        ? await proveRows(context, slice, { ...call, ...written, path })
        : written.digest;
    await store.put(objectKey, path, signal, { mayTake: true });
    const done: DonePart = {
      number: part.number,
      object_key: objectKey,
      rows,
      digest,
      size_bytes: written.sizeBytes,
      sha256,
      body_bytes: written.bodyBytes,
      layout,
    };
    signal.throwIfAborted();
    mayCount = true;
    await write((connection) => finishPart(connection, job, done));
    return { done, path };
  } catch (error) {
    // If the object cannot be removed now, a sweep finds it in the folder of the job. Once its row was written the commit
    // may have taken place, though its answer was lost: whoever has the job now may count on the object.
    if (signal.aborted && !mayCount) await store.remove(objectKey).catch(() => {});
    throw error;
  }
}

type Written = {
  rows: number;
  digest: string | null;
  /** The size of the file, and what it was before compression. */
  sizeBytes: number;
  bodyBytes: number;
  sha256: Buffer;
  layout: unknown;
};

/**
 * Writes the rows of a part into a file, as it will be stored. It reads in a snapshot of its own: the slice is pinned, so
 * every part sees the same records in any snapshot.
 */
async function writeRows(
  { source, pace }: WorkContext,
  slice: Slice,
  call: PartCall & { path: string },
): Promise<Written> {
  const { job, format, signal, onRows, pinned } = call;
  signal.throwIfAborted();
  // What is in the only part of a file is compared with what was pinned; to compute that digest twice took a quarter of
  // the CPU time of such a job.
  const sumsDigest = pinned === null || format.proof !== 'content';
  // The rows are not counted first: all parts together are compared with what was pinned.
  const body = format.startBody(source, slice, { countsFirst: false, sumsDigest });
  const close = () => void body.close();
  signal.addEventListener('abort', close, { once: true });
  const rest = pace.begin();
  let bodyBytes = 0;
  const plain = async function* () {
    for await (const chunk of body.chunks()) {
      signal.throwIfAborted();
      bodyBytes += chunk.length;
      onRows(body.rowsSoFar());
      yield chunk;
      await rest(signal);
    }
  };
  let file: FileHandle | undefined;
  try {
    file = await open(call.path, 'wx', 0o600);
    let sizeBytes = 0;
    const hash = new ThreadHash();
    for await (const chunk of packed(plain(), job.options.compression)) {
      await append(chunk, { hash, file });
      sizeBytes += chunk.length;
    }
    signal.throwIfAborted();
    const rows = await body.rowCount;
    const [digest, layout] = [body.digest(), body.layout()];
    return { rows, digest, sizeBytes, bodyBytes, sha256: await hash.digest(), layout };
  } finally {
    signal.removeEventListener('abort', close);
    await file?.close();
    await body.close();
  }
}

/** The pieces as they are stored. Files of rows that are not compressed need not come into memory. */
function packed(
  pieces: AsyncIterable<RowPiece>,
  compression: Compression,
): AsyncIterable<RowPiece> {
  return compression === 'none' ? pieces : compress(bytesOf(pieces), compression);
}

async function append(
  piece: RowPiece,
  { hash, file: into }: { hash: ThreadHash; file: FileHandle },
): Promise<void> {
  if (Buffer.isBuffer(piece)) return hash.update(piece, { into });
  const { file, close } = await piece.take();
  try {
    await hash.addFile(file, { start: piece.start, end: piece.end, into });
  } finally {
    await close();
  }
}

/** Reads a part back. Returns the digest of its content, or, where columns lack, of the records as they were read. */
async function proveRows(
  { source, db }: WorkContext,
  slice: Slice,
  call: PartCall & Written & { dir: string; path: string },
): Promise<string> {
  const { job, format, rows, sizeBytes, signal, pinned } = call;
  // Compressed, a file of no bytes could not be read.
  if (sizeBytes === 0 && rows === 0) return '0';
  const { compression } = job.options;
  const proof = await format.prove(source.cold.duckdb, { ...call, compression });
  if (proof.rows !== rows) {
    throw new AppError('internal_error', {
      detail: `A part of the file was read back with ${proof.rows} rows instead of ${rows}.`,
    });
  }
  signal.throwIfAborted();
  const measure = async () => (await measureSlice(db, slice, source.cold)).digest;
  if (proof.digest === null) return call.digest ?? (await measure());
  // If this is not what was pinned, the records say whether they were encoded wrongly or are others by now.
  const isOther = pinned !== null && proof.digest !== pinned;
  const digest = call.digest ?? (isOther ? await measure() : null);
  if (digest !== null && proof.digest !== digest) {
    throw new AppError('internal_error', {
      detail:
        'A part of the file was read back with other records than were encoded. Ask for the export anew; if that fails, too, look at the store and its disk.',
    });
  }
  return proof.digest;
}

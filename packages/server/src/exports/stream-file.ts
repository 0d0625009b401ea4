import { createHash } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';
import { countInParts, type KeyRange, type Slice } from '../records/index.ts';
import { bytesOf } from './encode/chunk-files.ts';
import type { ExportSource } from './encode/rows.ts';
import { compress, compressTail } from './formats/compress.ts';
import type { Body, DonePart, FileFormat } from './formats/format.ts';
import type { Compression } from './values.ts';

/** A file that is being made and read at the same time. */
export type FileStream = {
  /** The number of rows in the file. Rejects if they cannot be counted. */
  readonly rowCount: Promise<number>;
  /** The bytes of the file. Unless exactly `rowCount` rows came, it ends with an error, and the file is not whole. */
  chunks(): AsyncGenerator<Buffer>;
  /** The SHA-256 of all bytes, once `chunks` has ended. */
  sha256(): Buffer;
  /** Stops the queries and frees everything. It does no harm when everything is done. */
  close(): Promise<void>;
};

type FileRequest = {
  readonly format: FileFormat;
  readonly compression: Compression;
  readonly slice: Slice;
  /** The parts of a version, each read in its own snapshot, so that the bytes are those of its job; null: one whole. */
  readonly parts: readonly KeyRange[] | null;
};

/** Begins to make a file. The caller has to call `close` in the end. */
export function startFile(source: ExportSource, request: FileRequest): FileStream {
  const { format, compression, slice, parts } = request;
  const sha256 = createHash('sha256');
  const closing = new AbortController();
  let open: Body | null = null;
  const openBody = (own: Slice, countsFirst: boolean): Body => {
    closing.signal.throwIfAborted();
    open = format.startBody(source, own, { countsFirst });
    return open;
  };
  const whole = parts === null ? openBody(slice, true) : null;
  const rowCount = whole?.rowCount ?? countRows(source, slice, { parts, signal: closing.signal });
  // Whoever reads the chunks also gets this error, so it need not be handled here.
  rowCount.catch(() => {});

  const bodies = function* (): Generator<Body> {
    if (whole !== null) yield whole;
    for (const range of parts ?? []) yield openBody({ ...slice, range }, false);
  };
  const pieces = async function* (): AsyncGenerator<Buffer> {
    const expected = await rowCount;
    yield* compress([format.head], compression);
    const done: DonePart[] = [];
    for (const body of bodies()) {
      let sizeBytes = 0;
      const counted = async function* () {
        for await (const chunk of bytesOf(body.chunks())) {
          sizeBytes += chunk.length;
          yield chunk;
        }
      };
      yield* compress(counted(), compression);
      done.push({ rows: await body.rowCount, sizeBytes, layout: body.layout() });
      await body.close();
    }
    const rows = done.reduce((sum, part) => sum + part.rows, 0);
    if (rows !== expected) throw wrongCount(rows, expected);
    yield* compressTail(format, done, compression);
  };
  return {
    rowCount,
    async *chunks() {
      for await (const piece of pieces()) {
        if (piece.length === 0) continue;
        sha256.update(piece);
        yield piece;
      }
    },
    sha256: () => sha256.digest(),
    async close() {
      closing.abort(new Error('the export was closed'));
      await open?.close();
    },
  };
}

async function countRows(...asked: Parameters<typeof countInParts>): Promise<number> {
  return (await countInParts(...asked)).count;
}

function wrongCount(rows: number, expected: number): AppError {
  return new AppError('internal_error', {
    cause: new Error(`the parts of the export have ${rows} rows, their slice ${expected}`),
  });
}

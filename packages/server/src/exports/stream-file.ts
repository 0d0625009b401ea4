import { createHash } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';
import { countSlice, type KeyRange, type Slice } from '../records/index.ts';
import type { ExportSource } from './encode/rows.ts';
import { compress, compressTail } from './formats/compress.ts';
import type { Body, DonePart, FileFormat } from './formats/format.ts';
import type { Compression } from './values.ts';

export type FileStream = {
  /** Rows of the file. Rejects if they cannot be read. */
  readonly rowCount: Promise<number>;
  /** The file's bytes. Ends with an error, and then it is not whole, unless exactly `rowCount` rows came. */
  chunks(): AsyncGenerator<Buffer>;
  /** SHA-256 of all bytes, once `chunks` has ended. */
  sha256(): Buffer;
  /** Stops the queries and frees everything; harmless when all is done. */
  close(): Promise<void>;
};

export type FileRequest = {
  readonly format: FileFormat;
  readonly compression: Compression;
  readonly slice: Slice;
  /**
   * Of a dataset version: its parts, so that the bytes are those of its job. Each is read in a snapshot of
   * its own. Null: the slice is read at once.
   */
  readonly parts: readonly KeyRange[] | null;
};

/** Begins to write a file. */
export function startFile(source: ExportSource, request: FileRequest): FileStream {
  const { format, compression, slice, parts } = request;
  const sha256 = createHash('sha256');
  let isClosed = false;
  let open: Body | null = null;
  const openBody = (own: Slice, countsFirst: boolean): Body => {
    if (isClosed) throw new Error('the export was closed');
    open = format.startBody(source, own, { countsFirst });
    return open;
  };
  const whole = parts === null ? openBody(slice, true) : null;
  const rowCount = whole?.rowCount ?? countRows(source, slice);
  // Who reads the chunks hears of a failure too.
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
        for await (const chunk of body.chunks()) {
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
      isClosed = true;
      await open?.close();
    },
  };
}

async function countRows({ db, cold }: ExportSource, slice: Slice): Promise<number> {
  return (await countSlice(db, slice, cold)).count;
}

function wrongCount(rows: number, expected: number): AppError {
  return new AppError('internal_error', {
    cause: new Error(`the parts of the export have ${rows} rows, their slice ${expected}`),
  });
}

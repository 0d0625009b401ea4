import type { DuckDb } from '../../platform/duckdb.ts';
import type { Slice } from '../../records/index.ts';
import type { ExportSource } from '../encode/rows.ts';
import type { Compression, ExportFormat, Profile, Proof } from '../values.ts';

/** What file is asked for. */
export type FileOptions = {
  readonly format: ExportFormat;
  /** In the order of the file; export columns or field paths. */
  readonly columns: readonly string[];
  /** CSV only. */
  readonly header: boolean;
  readonly profile: Profile;
  /** Of the file around its format; none for Parquet, which compresses by itself. */
  readonly compression: Compression;
};

/**
 * A format bound to the options of one file. The file is head, the bodies of its parts in order, tail;
 * with one part just as with many. All of this is before compression: each piece is compressed by itself,
 * see `compress`, as gzip members and zstd frames may follow each other in a file.
 */
export type FileFormat = {
  readonly mediaType: string;
  /** Such as `csv`, `csv.gz`, `parquet`. */
  readonly extension: string;
  readonly head: Buffer;
  tail(parts: readonly DonePart[]): Buffer;
  /** Opens one snapshot of both tiers and begins to encode the rows of the slice. */
  startBody(source: ExportSource, slice: Slice, options?: BodyOptions): Body;
  /** Whether `prove` finds all that the digest needs in the file. */
  readonly proof: Proof;
  /** Reads a body back that was written to a file: rows, and the digest of their content. */
  prove(duckdb: DuckDb, written: WrittenBody): Promise<{ rows: number; digest: string | null }>;
};

export type BodyOptions = {
  /**
   * Count the records of the slice before its rows are read; counters cannot tell that of a pinned slice.
   * Usually true. Leave it out where the body is read back and compared anyway.
   */
  readonly countsFirst?: boolean;
};

/** The rows of a slice, encoded. */
export type Body = {
  /**
   * Records of the slice in the snapshot that the rows come from: before the first of them, or, unless
   * they are counted first, once the last has come. Rejects if the snapshot cannot be opened or read.
   */
  readonly rowCount: Promise<number>;
  /** Rows that were encoded by now, in chunks. */
  rowsSoFar(): number;
  /** Ends with an error, and then the body is not whole, unless exactly `rowCount` rows came. */
  chunks(): AsyncGenerator<Buffer>;
  /** JSON for `tail` and `prove`, once `chunks` has ended; null where they need none. */
  layout(): unknown;
  /** Stops the queries and frees everything; harmless when all is done. */
  close(): Promise<void>;
};

export type DonePart = {
  readonly rows: number;
  /** Of its body, before compression. */
  readonly sizeBytes: number;
  readonly layout: unknown;
};

export type WrittenBody = {
  readonly path: string;
  readonly layout: unknown;
  readonly rows: number;
  /** A folder for files of its own, which it removes. */
  readonly dir: string;
  readonly signal: AbortSignal;
};

/** How a file is called and served that may be compressed as a whole. */
export function compressedName(
  mediaType: string,
  extension: string,
  compression: Compression,
): { mediaType: string; extension: string } {
  switch (compression) {
    case 'none':
      return { mediaType, extension };
    case 'gzip':
      return { mediaType: 'application/gzip', extension: `${extension}.gz` };
    case 'zstd':
      return { mediaType: 'application/zstd', extension: `${extension}.zst` };
  }
}

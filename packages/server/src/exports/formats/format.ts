import type { DuckDb } from '../../platform/duckdb.ts';
import type { Slice } from '../../records/index.ts';
import type { RowPiece } from '../encode/chunk-files.ts';
import type { ExportSource } from '../encode/rows.ts';
import type { Manifest } from '../jobs.contract.ts';
import type {
  Compression,
  FieldColumn,
  JobFormat,
  LineTemplate,
  Profile,
  Proof,
} from '../values.ts';

/** The file that is asked for. */
export type FileOptions = {
  readonly format: JobFormat;
  /** The columns in the order of the file: export columns or field paths. */
  readonly columns: readonly string[];
  /** For typed Parquet: the columns that stand in the place of `enrichment`, before the one for what fits none of them. */
  readonly fields?: readonly FieldColumn[] | undefined;
  /** For NDJSON of other lines than records. */
  readonly template?: LineTemplate | undefined;
  /** For CSV only. */
  readonly header: boolean;
  readonly profile: Profile;
  /** The compression of the whole file. It is `none` for Parquet, which compresses its own pages. */
  readonly compression: Compression;
};

/** What the columns of a Parquet file follow from. */
export type FileColumns = Pick<FileOptions, 'columns' | 'fields'>;

/**
 * A format of one file: its head, the bodies of its parts, and its tail, before compression. Each piece is compressed
 * by itself, since gzip members and zstd frames may follow each other.
 */
export type FileFormat = {
  readonly mediaType: string;
  /** How the file's name ends, such as `.csv`, `.csv.gz`, `.parquet`. */
  readonly extension: string;
  readonly head: Buffer;
  /** The end of the file, made from what is known of its parts. */
  tail(parts: readonly DonePart[]): Buffer;
  /** What the manifest tells of the file, made from the layouts of its parts. */
  tell?(layouts: readonly unknown[]): Pick<Manifest, 'misfits' | 'skipped'>;
  /** Opens one snapshot of both tiers and begins to encode the rows of the slice. */
  startBody(source: ExportSource, slice: Slice, options?: BodyOptions): Body;
  /** Whether `prove` finds everything that the digest needs in the file (`content`), or only rows. */
  readonly proof: Exclude<Proof, 'sample'>;
  /** Reads a body back from a file: its rows, and the digest of their content, null when `proof` is `rows`. */
  prove(duckdb: DuckDb, written: WrittenBody): Promise<{ rows: number; digest: string | null }>;
};

export type BodyOptions = {
  /**
   * Whether the records of the slice are counted before its rows are read; true by default. For a pinned slice the
   * counters cannot tell the number, so counting takes time: leave it out where the body is read back and compared
   * anyway.
   */
  readonly countsFirst?: boolean;
  /** Whether `digest` is computed where that takes no second look at the encoded bytes; false by default. */
  readonly sumsDigest?: boolean;
};

/** The rows of a slice, encoded. */
export type Body = {
  /** The number of records in the snapshot, known before the first row or, without `countsFirst`, after the last. */
  readonly rowCount: Promise<number>;
  /** How many rows are encoded by now; it grows by whole chunks. */
  rowsSoFar(): number;
  /** The digest of the records as encoded, once `chunks` ended; null unless all are cold and read by chunks. */
  digest(): string | null;
  /** The body in pieces. Unless exactly `rowCount` rows came, it ends with an error, and the body is not whole. */
  chunks(): AsyncGenerator<RowPiece>;
  /** What `tail` and `prove` need to know, as JSON, once `chunks` has ended; null for formats that need nothing. */
  layout(): unknown;
  /** Stops the queries and frees everything. It does no harm when everything is done. */
  close(): Promise<void>;
};

/** What the tail of a file needs to know of a part. */
export type DonePart = {
  readonly rows: number;
  /** The size of its body before compression. */
  readonly sizeBytes: number;
  readonly layout: unknown;
};

/** A body that was written to a file, to be proved. */
export type WrittenBody = {
  readonly path: string;
  readonly layout: unknown;
  readonly rows: number;
  /** How the file is compressed; by default it is not. */
  readonly compression?: Compression;
  /** A folder for files that `prove` makes and removes. */
  readonly dir: string;
  readonly signal: AbortSignal;
};

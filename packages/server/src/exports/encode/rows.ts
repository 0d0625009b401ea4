import type { Gate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader, CutOptions } from '../../records/index.ts';
import type { ExportColumn } from '../values.ts';

/** What exports read from, and where they may put what is on its way. */
export type ExportSource = {
  db: Database;
  cold: ColdReader;
  /** For what the database has encoded and the reader has not taken yet. */
  spillDir: string;
  spillBytes: number;
  /** A folder of this process, cleared when it starts: for what DuckDB encodes ahead. */
  spoolDir: string;
  /** Chunks of cold rows are encoded through it, of all exports together. */
  encoders: Gate;
  /** How finely slices with cold records are cut; usually left out. */
  cut?: CutOptions;
  /** Records of so many bytes make a row group of a Parquet file; usually left out. */
  groupBytes?: number;
};

/**
 * How rows are written by both tiers, to the byte alike: as machine CSV, or as a JSON object a line,
 * without the members that are NULL.
 */
export type RowForm = {
  readonly kind: 'csv' | 'json';
  readonly columns: readonly ExportColumn[];
};

/**
 * JSON lines go through the databases' CSV writers too: with a quote and a delimiter that JSON never has
 * inside, PostgreSQL quotes nothing; DuckDB, which would quote what has a #, is told so. A key before a
 * line ends with `keyEnd`, which it cannot hold either.
 */
export const jsonDialect = { quote: '\u0003', delimiter: '\u0004', keyEnd: '\u0002' } as const;

/** What stands before the value of a member; `isFirst`: nothing stands before it. */
export function memberPrefix(column: ExportColumn, isFirst: boolean): string {
  return `${isFirst ? '' : ','}${JSON.stringify(column)}:`;
}

/** The rows of an export, as one tier or both write them, out of one snapshot. */
export type TierRows<Piece = Buffer> = {
  /** What needs the snapshot's connection, and what comes before it. */
  whileConnected(): AsyncGenerator<Piece>;
  /** The rest. */
  afterwards(): AsyncGenerator<Piece>;
  /** Rows so far. */
  readonly rowCount: number;
  close(): Promise<void>;
};

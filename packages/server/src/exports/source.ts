import type { Gate } from '../kernel/gate.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { ColdReader, CutOptions } from '../records/index.ts';

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

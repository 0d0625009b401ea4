import type { Gate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader, CutOptions } from '../../records/index.ts';
import { type ExportColumn, exportColumns } from '../values.ts';

/** What exports read from, and where they may keep data on its way. */
export type ExportSource = {
  db: Database;
  cold: ColdReader;
  /**
   * The folder for what the database has encoded and the reader has not taken yet; each export keeps at most
   * `spillBytes` there.
   */
  spillDir: string;
  spillBytes: number;
  /** A folder of this process for what DuckDB encodes ahead. It is cleared when the process starts. */
  spoolDir: string;
  /** Limits how many chunks of cold rows are encoded at once, over all exports together. */
  encoders: Gate;
  /** How finely slices with cold records are cut; usually left out. */
  cut?: CutOptions;
  /** How many bytes of records make a row group of a Parquet file; usually left out. */
  groupBytes?: number;
};

/**
 * How rows are written, with the same bytes by both tiers: as machine CSV, or as one JSON object a line without members
 * that are NULL.
 */
export type RowForm = {
  readonly kind: 'csv' | 'json';
  readonly columns: readonly ExportColumn[];
};

/**
 * JSON lines go through the CSV writers of the databases, too. The quote and the delimiter are characters that JSON
 * text never contains, so PostgreSQL quotes nothing; DuckDB, which would quote whatever contains a #, is told to quote
 * nothing. A key before a line ends with `keyEnd`, which it cannot contain either.
 */
export const jsonDialect = { quote: '\u0003', delimiter: '\u0004', keyEnd: '\u0002' } as const;

/** The text before the value of a member. `isFirst` says that no other member comes before it, so there is no comma. */
export function memberPrefix(column: ExportColumn, isFirst: boolean): string {
  return `${isFirst ? '' : ','}${JSON.stringify(column)}:`;
}

/** The rows of an export, as one tier or both write them, out of one snapshot. */
export type TierRows<Piece = Buffer> = {
  /** The rows that need the snapshot's connection, and those before them. */
  whileConnected(): AsyncGenerator<Piece>;
  /** The other rows. The connection may be given back before they are read. */
  afterwards(): AsyncGenerator<Piece>;
  /** How many rows were read so far. */
  readonly rowCount: number;
  /** As in `Body`, of the rows that were read so far. */
  readonly digest: bigint | null;
  /** As in `Body`; formats that need nothing have none. */
  layout?(): unknown;
  close(): Promise<void>;
};

/** Columns of text, whose cells are always quoted in CSV. Numbers and times are not quoted. */
const textColumns: readonly ExportColumn[] = [
  'tenant',
  'store',
  'event_id',
  'kind',
  'source',
  'model',
  'datasets',
  'split',
  'enrichment',
];

/** Those of the columns whose cells are always quoted. */
export function quotedColumns(columns: readonly ExportColumn[]): ExportColumn[] {
  return columns.filter((column) => textColumns.includes(column));
}

/** Columns that a record may have no value in. `split` has one only in a version with shares. */
const nullableColumns: readonly ExportColumn[] = [
  'kind',
  'source',
  'model',
  'confidence',
  'datasets',
  'split',
];

/** Whether cells of this column may be NULL. */
export function isNullable(column: ExportColumn): boolean {
  return nullableColumns.includes(column);
}

/**
 * How the values of a column are written in JSON:
 * - raw: as they are spelled
 * - bare: as a string in which nothing needs an escape
 * - name: as a string without control characters
 * - text: as any string
 */
export const jsonKinds = {
  tenant: 'name',
  store: 'name',
  month: 'bare',
  event_id: 'name',
  occurred_at: 'bare',
  recorded_at: 'bare',
  kind: 'text',
  source: 'text',
  model: 'text',
  confidence: 'raw',
  bytes: 'raw',
  datasets: 'bare',
  split: 'bare',
  enrichment: 'raw',
} as const satisfies Record<ExportColumn, string>;

/** Whether a name is one of our columns, and not a field path. */
export function isOwnColumn(name: string): name is ExportColumn {
  return exportColumns.some((column) => column === name);
}

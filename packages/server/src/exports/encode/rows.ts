import type { Gate } from '../../kernel/gate.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { ColdReader, CutOptions } from '../../records/index.ts';
import { type ExportColumn, exportColumns } from '../values.ts';
import type { RowPiece } from './chunk-files.ts';
import { cellQuote } from './csv-cells.ts';

/** What exports read from, and where they may keep data on its way. */
export type ExportSource = {
  db: Database;
  cold: ColdReader;
  /** The folder for what is encoded and not taken by the reader yet; an export keeps at most `spillBytes` there. */
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
 * How rows are written, with the same bytes by both tiers: machine CSV; the same with another quote, for rows that go on
 * through this process; or a JSON object a line without NULLs.
 */
export type RowForm = {
  readonly kind: 'csv' | 'cells' | 'json';
  readonly columns: readonly ExportColumn[];
};

/**
 * JSON lines go through the CSV writers of the databases, with a quote and a delimiter that JSON never contains. DuckDB
 * would quote what contains a #, so it is told to quote nothing. `keyEnd` ends a key.
 */
export const jsonDialect = { quote: cellQuote, delimiter: '\u0004', keyEnd: '\u0002' } as const;

/** The text before the value of a member. `isFirst` says that no other member comes before it, so there is no comma. */
export function memberPrefix(column: ExportColumn, isFirst: boolean): string {
  return `${isFirst ? '' : ','}${JSON.stringify(column)}:`;
}

/** The rows of an export, as one tier or both write them, out of one snapshot. */
export type TierRows<Piece = RowPiece> = {
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

type ColumnTraits = {
  /**
   * How its values are written in JSON:
   * - raw: as they are spelled
   * - bare: as a string in which nothing needs an escape
   * - name: as a string without control characters
   * - text: as any string
   */
  readonly json: 'raw' | 'bare' | 'name' | 'text';
  /** Whether its cells are always quoted in CSV. Those of numbers and times are not. */
  readonly isText?: true;
  /** Whether a record may have no value in it. `split` has one only in a version with shares. */
  readonly isNullable?: true;
};

const columnTraits: Readonly<Record<ExportColumn, ColumnTraits>> = {
  tenant: { json: 'name', isText: true },
  store: { json: 'name', isText: true },
  month: { json: 'bare' },
  event_id: { json: 'name', isText: true },
  occurred_at: { json: 'bare' },
  recorded_at: { json: 'bare' },
  kind: { json: 'text', isText: true, isNullable: true },
  source: { json: 'text', isText: true, isNullable: true },
  model: { json: 'text', isText: true, isNullable: true },
  confidence: { json: 'raw', isNullable: true },
  bytes: { json: 'raw' },
  datasets: { json: 'bare', isText: true, isNullable: true },
  split: { json: 'bare', isText: true, isNullable: true },
  enrichment: { json: 'raw', isText: true },
};

/** Those of the columns whose cells are always quoted. */
export function quotedColumns(columns: readonly ExportColumn[]): ExportColumn[] {
  return columns.filter((column) => columnTraits[column].isText);
}

/** Whether cells of this column may be NULL. */
export function isNullable(column: ExportColumn): boolean {
  return columnTraits[column].isNullable === true;
}

/** How the values of a column are written in JSON; see `ColumnTraits`. */
export function jsonKindOf(column: ExportColumn): ColumnTraits['json'] {
  return columnTraits[column].json;
}

/** Whether a name is one of our columns, and not a field path. */
export function isOwnColumn(name: string): name is ExportColumn {
  return exportColumns.some((column) => column === name);
}

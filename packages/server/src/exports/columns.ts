import { type ExportColumn, exportColumns } from './values.ts';

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

import { type ExportColumn, exportColumns } from './values.ts';

/** Text columns: always quoted. Numbers and times are not. */
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

/** Columns that every record has a value in; `split` only has one in a version with shares. */
const nullableColumns: readonly ExportColumn[] = [
  'kind',
  'source',
  'model',
  'confidence',
  'datasets',
  'split',
];

export function isNullable(column: ExportColumn): boolean {
  return nullableColumns.includes(column);
}

/**
 * How a column stands in JSON. raw: as it is spelled. bare: a string that nothing is escaped in. name: a
 * string without control characters. text: any string.
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

export function isOwnColumn(name: string): name is ExportColumn {
  return exportColumns.some((column) => column === name);
}

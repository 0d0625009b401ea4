import type { Slice } from '../records/index.ts';
import type { ExportColumn } from './contract.ts';

/** Text columns: always quoted. Numbers and times are not. */
const textColumns: readonly ExportColumn[] = [
  'tenant',
  'store',
  'event_id',
  'kind',
  'source',
  'model',
  'datasets',
  'enrichment',
];

/** Those of the columns whose cells are always quoted. */
export function quotedColumns(columns: readonly ExportColumn[]): ExportColumn[] {
  return columns.filter((column) => textColumns.includes(column));
}

/** The month that all days of the slice lie in, if it is one: spares formatting it row by row. */
export function onlyMonth(slice: Slice): string | null {
  if (slice.from === undefined || slice.until === undefined) return null;
  const last = new Date(Date.parse(slice.until) - 1).toISOString().slice(0, 7);
  return slice.from.startsWith(last) ? last : null;
}

import type { Database } from '../platform/postgres/database.ts';
import {
  type ColdReader,
  type RecordRow,
  readTagWindows,
  type Slice,
  sampleRecords,
  type TagWindows,
} from '../records/index.ts';
import { datasetNames } from '../records/values.ts';
import type { Cell } from './encode/csv-cells.ts';
import { quotedColumns } from './encode/rows.ts';
import type { ExportColumn } from './values.ts';

/** Some records from both ends of a slice, each with the cells of these columns. Throws 500 `segment_damaged`. */
export async function sampleCells(
  source: { db: Database; cold: ColdReader },
  slice: Slice & { readonly tenant: string },
  { columns, limit }: { columns: readonly ExportColumn[]; limit: number },
): Promise<{ row: RecordRow; cells: Cell[] }[]> {
  const tagged = { ...slice, tags: slice.tags ?? (await readTagWindows(source.db, slice.tenant)) };
  const quoted = new Set(quotedColumns(columns));
  const toCell = (row: RecordRow, column: ExportColumn): Cell => {
    const text = textOf(row, column, tagged);
    return text === null ? null : { text, isText: quoted.has(column) };
  };
  const rows = await sampleRecords(source, tagged, limit);
  return rows.map((row) => ({ row, cells: columns.map((column) => toCell(row, column)) }));
}

function textOf(
  row: RecordRow,
  column: ExportColumn,
  { tags, split = 'train' }: Slice,
): string | null {
  if (column === 'month') return row.occurred_at.slice(0, 7);
  if (column === 'bytes') return String(row.bytes);
  if (column === 'datasets') return datasetsOf(row, tags);
  // The names of the splits differ only by a few bytes.
  return column === 'split' ? split : row[column];
}

function datasetsOf(row: RecordRow, tags: TagWindows | undefined): string | null {
  const day = row.occurred_at.slice(0, 10);
  const names = datasetNames.filter((name) =>
    tags?.[name].some(
      ({ store, from, until }) =>
        (store === null || store === row.store) && from <= day && day < until,
    ),
  );
  return names.length === 0 ? null : names.join(';');
}

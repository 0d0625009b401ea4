import type { Static } from 'typebox';
import type { Database } from '../platform/postgres/database.ts';
import {
  type ColdReader,
  countSlice,
  type RecordRow,
  readTagWindows,
  type Slice,
  sampleRecords,
  sumLeafDays,
  type TagWindows,
} from '../records/index.ts';
import { datasetNames } from '../records/values.ts';
import type { estimateSchema } from './contract.ts';
import { quotedColumns } from './encode/rows.ts';
import { defaultColumns, type ExportColumn, type Profile, sheetLimits } from './values.ts';

/** How many records are read to estimate the size of the CSV file. */
const sampleSize = 200;

/** The size of Parquet compared with NDJSON, used where no cold records tell it. */
const usualParquetShare = 1 / 20;

type Estimate = Static<typeof estimateSchema>;

/** Counts a slice, and estimates its file in each format; of NDJSON it is exact. Throws 500 `segment_damaged`. */
export async function estimateExport(
  source: { db: Database; cold: ColdReader },
  slice: Slice & { readonly tenant: string },
  profile: Profile = 'machine',
): Promise<Estimate> {
  const { db, cold } = source;
  const tagged = { ...slice, tags: slice.tags ?? (await readTagWindows(db, slice.tenant)) };
  const { count: rows, bytes } = await countSlice(db, tagged, cold);
  const long_records =
    profile === 'spreadsheet' && rows <= sheetLimits.rows
      ? (await countSlice(db, { ...tagged, largerThan: sheetLimits.cellCharacters }, cold)).count
      : null;
  if (rows === 0) return { rows, bytes, files: { csv: 0, ndjson: 0, parquet: 0 }, long_records };
  const sample = await sampleRecords(source, tagged, sampleSize);
  const { cold_bytes, cold_stored_bytes } = await sumLeafDays(db, tagged);
  const parquetShare = cold_bytes === 0 ? usualParquetShare : cold_stored_bytes / cold_bytes;
  return {
    rows,
    bytes,
    files: {
      csv: Math.round(bytes * csvShare(sample, tagged)),
      ndjson: bytes + rows,
      parquet: Math.round(bytes * parquetShare),
    },
    long_records,
  };
}

/** How many bytes of CSV there are for each byte of NDJSON, by a sample of records. */
function csvShare(sample: readonly RecordRow[], slice: Slice): number {
  if (sample.length === 0) return 1;
  const columns = defaultColumns('csv', slice.shares !== undefined);
  const quoted = new Set<ExportColumn>(quotedColumns(columns));
  let [csv, ndjson] = [0, 0];
  for (const row of sample) {
    // Each cell is followed by a comma or the line feed.
    csv += columns.length;
    for (const column of columns) csv += cellBytes(cellOf(row, column, slice), quoted.has(column));
    ndjson += row.bytes;
  }
  return csv / ndjson;
}

function cellBytes(text: string | null, isQuoted: boolean): number {
  if (text === null) return 0;
  return Buffer.byteLength(text) + (isQuoted ? 2 + (text.match(/"/g)?.length ?? 0) : 0);
}

/** The text of a column of a record, to estimate sizes and to show an example. */
export function cellOf(
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
  return names.length === 0 ? null : names.join(',');
}

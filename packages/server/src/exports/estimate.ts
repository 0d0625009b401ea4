import type { Static } from 'typebox';
import type { Database } from '../platform/postgres/database.ts';
import { type ColdReader, countInParts, readTagWindows, sumLeafDays } from '../records/index.ts';
import type { estimateSchema } from './contract.ts';
import type { Cell } from './encode/csv-cells.ts';
import { sampleCells } from './sample-cells.ts';
import type { Selection } from './select.ts';
import { defaultColumns, type Profile, sheetLimits } from './values.ts';

/** How many records are read to estimate the size of the CSV file. */
const sampleSize = 200;

/** The size of Parquet compared with NDJSON, used where no cold records tell it. */
const usualParquetShare = 1 / 20;

type Estimate = Static<typeof estimateSchema>;

/** Counts a slice, and estimates its file in each format; of NDJSON it is exact. Throws 500 `segment_damaged`. */
export async function estimateExport(
  source: { db: Database; cold: ColdReader },
  { slice, version }: Selection,
  { profile = 'machine', signal }: { profile?: Profile | undefined; signal: AbortSignal },
): Promise<Estimate> {
  const { db } = source;
  const tagged = { ...slice, tags: slice.tags ?? (await readTagWindows(db, slice.tenant)) };
  const within = { parts: version?.parts, signal };
  const { count: rows, bytes } = await countInParts(source, tagged, within);
  const long_records =
    profile === 'spreadsheet' && rows <= sheetLimits.rows
      ? (await countInParts(source, { ...tagged, largerThan: sheetLimits.cellCharacters }, within))
          .count
      : null;
  if (rows === 0) return { rows, bytes, files: { csv: 0, ndjson: 0, parquet: 0 }, long_records };
  const columns = defaultColumns('csv', slice.shares !== undefined);
  const sample = await sampleCells(source, tagged, { columns, limit: sampleSize });
  const { cold_bytes, cold_stored_bytes } = await sumLeafDays(db, tagged);
  const parquetShare = cold_bytes === 0 ? usualParquetShare : cold_stored_bytes / cold_bytes;
  return {
    rows,
    bytes,
    files: {
      csv: Math.round(bytes * csvShare(sample)),
      ndjson: bytes + rows,
      parquet: Math.round(bytes * parquetShare),
    },
    long_records,
  };
}

/** How many bytes of CSV there are for each byte of NDJSON, by a sample of records. */
function csvShare(sample: Awaited<ReturnType<typeof sampleCells>>): number {
  let [csv, ndjson] = [0, 0];
  for (const { row, cells } of sample) {
    for (const cell of cells) csv += cellBytes(cell);
    ndjson += row.bytes;
  }
  return ndjson === 0 ? 1 : csv / ndjson;
}

/** The bytes of a cell, and of the comma or the line feed behind it. */
function cellBytes(cell: Cell): number {
  if (cell === null) return 1;
  const { text, isText } = cell;
  return Buffer.byteLength(text) + (isText ? 2 + (text.match(/"/g)?.length ?? 0) : 0) + 1;
}

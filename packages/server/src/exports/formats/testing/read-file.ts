import { parquetReadObjects } from 'hyparquet';
import { readCsv as readCells } from '../../../../test/csv.ts';
import { unpackFrame } from './zstd.ts';

/** Cells as text, null where there is nothing. */
export type Row = Record<string, string | null>;

/** Nothing at all is null. */
export function readCsv(bytes: Buffer, columns: readonly string[]): Row[] {
  return readCells(bytes.toString()).map((row) =>
    Object.fromEntries(columns.map((name, index) => [name, row[index] ?? null])),
  );
}

/** Lines by JSON.parse: numbers as JSON.stringify writes them, objects too. */
export function readNdjson(bytes: Buffer, columns: readonly string[]): Row[] {
  const lines = bytes.toString().split('\n').slice(0, -1);
  return lines.map((line) => {
    const record = JSON.parse(line) as Record<string, unknown>;
    return Object.fromEntries(
      columns.map((name) => {
        const value = record[name];
        if (value === undefined) return [name, null];
        return [name, typeof value === 'string' ? value : JSON.stringify(value)];
      }),
    );
  });
}

/** Parquet by a reader in JavaScript; zstd has to be made ready before. */
export async function readParquet(bytes: Buffer): Promise<Row[]> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const rows = await parquetReadObjects({
    file: file as ArrayBuffer,
    compressors: { ZSTD: (input: Uint8Array) => unpackFrame(input) },
    parsers: {
      timestampFromMicroseconds: instantOf,
      // Its own takes a byte order mark for none of the text.
      stringFromBytes: (text) => Buffer.from(text).toString(),
    },
  });
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
    ),
  );
}

function instantOf(micros: bigint): string {
  const whole = new Date(Number(micros / 1000n)).toISOString().slice(0, -1);
  return `${whole}${String(micros % 1000n).padStart(3, '0')}Z`;
}

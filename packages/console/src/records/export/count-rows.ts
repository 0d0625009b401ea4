import type { Compression, ExportFormat } from '../../exports/types.ts';

const quote = 0x22;
const lineFeed = 0x0a;

/** Counts the records of a file while it streams by. */
export type RowCounter = {
  add(chunk: Uint8Array): void;
  /** Records so far; the last one counts when it is ended by a line break, or with `end`. */
  rows(): number | null;
  /** After the last chunk: also counts a last record without a line break. Null: cannot be told. */
  end(): number | null;
  bytes(): number;
};

/** Of plain text only: what is compressed, and Parquet, is not looked into. */
export function createCounter(file: {
  format: ExportFormat;
  compression: Compression;
  hasHeader: boolean;
}): RowCounter {
  if (file.format === 'parquet' || file.compression !== 'none') return createByteCounter();
  const isCsv = file.format === 'csv';
  return createRowCounter({ hasHeader: isCsv && file.hasHeader, hasQuotes: isCsv });
}

/** `hasQuotes`: a line break inside quotes is part of a cell. NDJSON has none in its lines. */
export function createRowCounter(options: {
  hasHeader: boolean;
  hasQuotes?: boolean;
}): RowCounter & {
  rows(): number;
  end(): number;
} {
  const { hasHeader, hasQuotes = true } = options;
  let records = 0;
  let sizeBytes = 0;
  let isQuoted = false;
  let isAtStart = true;
  const rows = () => Math.max(0, records - (hasHeader ? 1 : 0));
  return {
    add(chunk) {
      // A doubled quote inside a cell toggles twice, which is the same as not at all.
      for (let index = 0; index < chunk.length; index += 1) {
        const byte = chunk[index];
        if (byte === quote && hasQuotes) isQuoted = !isQuoted;
        else if (byte === lineFeed && !isQuoted) records += 1;
      }
      if (chunk.length > 0) isAtStart = !isQuoted && chunk[chunk.length - 1] === lineFeed;
      sizeBytes += chunk.length;
    },
    rows,
    end() {
      if (!isAtStart) records += 1;
      isAtStart = true;
      return rows();
    },
    bytes: () => sizeBytes,
  };
}

function createByteCounter(): RowCounter {
  let sizeBytes = 0;
  return {
    add(chunk) {
      sizeBytes += chunk.length;
    },
    rows: () => null,
    end: () => null,
    bytes: () => sizeBytes,
  };
}

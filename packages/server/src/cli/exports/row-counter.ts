import { createGunzip } from 'node:zlib';
import type { Compression, ExportFormat } from '../../exports/values.ts';

/** Counts the rows of a file while it passes through. */
type RowCounter = {
  add(piece: Uint8Array): Promise<void>;
  /** To be called after the last piece. Throws when the compression is broken or cut. */
  end(): Promise<void>;
  /** The rows so far; null where they cannot be counted in the bytes. */
  rows(): number | null;
};

type Layout = { format: ExportFormat; compression: Compression; hasHeader: boolean };

/**
 * Makes a counter for a file. Rows are not counted in Parquet, which has their number in its footer, nor in zstd, which
 * this Node may not know: there only the digest proves the file.
 */
export function createRowCounter({ format, compression, hasHeader }: Layout): RowCounter {
  const counter =
    format === 'csv'
      ? createCsvCounter(hasHeader)
      : format === 'ndjson'
        ? createLineCounter()
        : null;
  if (counter === null || compression === 'zstd') {
    return { add: async () => {}, end: async () => {}, rows: () => null };
  }
  if (compression === 'gzip') return unzipped(counter);
  return {
    add: async (piece) => counter.add(piece),
    end: async () => {},
    rows: () => counter.rows(),
  };
}

type Counter = { add(piece: Uint8Array): void; rows(): number };

/** Counts lines of NDJSON. A string in JSON contains no line feed, so a line is a record. */
function createLineCounter(): Counter {
  let rows = 0;
  return {
    add(piece) {
      for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) rows += 1;
    },
    rows: () => rows,
  };
}

/** Counts in a gzip file, by decompressing it beside the download. */
function unzipped(counter: Counter): RowCounter {
  const gunzip = createGunzip();
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    gunzip.on('data', (piece: Uint8Array) => counter.add(piece));
    gunzip.on('end', resolve);
    gunzip.on('error', (error) => {
      failure = error;
      resolve();
    });
  });
  return {
    async add(piece) {
      if (failure !== undefined) throw failure;
      // A write that fails does not always call back. Its error is thrown by the next write.
      const written = new Promise<void>((resolve) => gunzip.write(piece, () => resolve()));
      await Promise.race([written, ended]);
    },
    async end() {
      gunzip.end();
      await ended;
      if (failure !== undefined) throw failure;
    },
    rows: () => counter.rows(),
  };
}

const quote = 0x22;
const lineFeed = 0x0a;

/** Counts the records of a CSV file while it passes through. */
type CsvCounter = {
  add(chunk: Uint8Array): void;
  /** The records so far, without the header. */
  rows(): number;
};

/**
 * Counts records, not lines: a line feed between quotes belongs to a cell (RFC 4180). A doubled quote leaves and enters
 * the quotes at once, so a single flag is enough. A last record without a line feed counts, too.
 */
export function createCsvCounter(hasHeader: boolean): CsvCounter {
  let ended = 0;
  let isQuoted = false;
  let isOpen = false;
  return {
    add(chunk) {
      let position = 0;
      while (position < chunk.length) {
        if (isQuoted) {
          // indexOf is far faster than a loop, and most of a CSV is quoted text.
          const end = chunk.indexOf(quote, position);
          if (end === -1) return;
          isQuoted = false;
          position = end + 1;
          continue;
        }
        const byte = chunk[position];
        if (byte === quote) isQuoted = true;
        isOpen = byte !== lineFeed;
        if (!isOpen) ended += 1;
        position += 1;
      }
    },
    rows: () => Math.max(0, ended + (isOpen ? 1 : 0) - (hasHeader ? 1 : 0)),
  };
}

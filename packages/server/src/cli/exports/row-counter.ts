import { createGunzip } from 'node:zlib';
import type { Compression, ExportFormat } from '../../exports/values.ts';

/** Counts the rows of a file while it passes through. */
type RowCounter = {
  add(piece: Uint8Array): void | Promise<void>;
  /** To be called after the last piece. Throws when the compression is broken or cut. */
  end(): Promise<void>;
  /** The rows so far. */
  rows(): number;
};

type Layout = { format: ExportFormat; compression: Compression; hasHeader: boolean };

/**
 * Makes a counter for a file; null where rows cannot be counted in the bytes: Parquet has their number in its footer,
 * and this Node may not know zstd. There only the digest proves the file.
 */
export function createRowCounter({ format, compression, hasHeader }: Layout): RowCounter | null {
  if (format === 'parquet' || compression === 'zstd') return null;
  const counter = format === 'csv' ? createCsvCounter(hasHeader) : createLineCounter();
  return compression === 'gzip' ? unzipped(counter) : { ...counter, end: async () => {} };
}

type Counter = Pick<RowCounter, 'rows'> & { add(piece: Uint8Array): void };

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
    rows: counter.rows,
  };
}

const quote = 0x22;
const lineFeed = 0x0a;

/**
 * Counts records, not lines: a line feed between quotes belongs to a cell (RFC 4180). A doubled quote leaves and enters
 * the quotes at once, so a single flag is enough. A last record without a line feed counts, too, and the header
 * does not.
 */
export function createCsvCounter(hasHeader: boolean): Counter {
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

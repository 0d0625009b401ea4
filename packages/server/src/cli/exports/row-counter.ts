import { createGunzip } from 'node:zlib';
import type { Compression, ExportFormat } from '../../exports/values.ts';

/** Counts the rows of a file while it passes. */
type RowCounter = {
  add(piece: Uint8Array): Promise<void>;
  /** When the last piece has passed. Throws when the compression is broken or cut. */
  end(): Promise<void>;
  /** So far; null where rows cannot be told from bytes that pass. */
  rows(): number | null;
};

type Layout = { format: ExportFormat; compression: Compression; hasHeader: boolean };

/** Rows of Parquet stand in its footer, and this Node may know no zstd: there the digest alone speaks. */
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

/** A string in JSON has no line feed: a line is a record. */
function createLineCounter(): Counter {
  let rows = 0;
  return {
    add(piece) {
      for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) rows += 1;
    },
    rows: () => rows,
  };
}

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
      // A write that fails is not always answered; what it failed with is thrown next time.
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

/** Counts the records of a CSV while it passes. */
type CsvCounter = {
  add(chunk: Uint8Array): void;
  /** Records so far, the header not counted. */
  rows(): number;
};

/**
 * Counts records, not lines: a line feed between quotes belongs to a cell (RFC 4180). A doubled quote
 * leaves and enters the quotes at once, so a single flag is enough. A last record without a line feed
 * counts too.
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
          // indexOf is far faster than a loop, and quoted text is most of a CSV
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

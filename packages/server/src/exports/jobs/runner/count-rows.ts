import type { ExportFormat } from '../../contract.ts';

const lineFeed = 0x0a;
const quote = 0x22;

/** Counts the rows that end in the bytes of a body that come by; always 0 where bytes do not tell. */
export function createRowCounter(format: ExportFormat): (bytes: Buffer) => number {
  switch (format) {
    case 'csv':
      return createCsvCounter();
    case 'ndjson':
      return createLineCounter();
    case 'parquet':
      return () => 0;
  }
}

function createLineCounter(): (bytes: Buffer) => number {
  let rows = 0;
  return (bytes) => {
    for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) rows += 1;
    return rows;
  };
}

function createCsvCounter(): (bytes: Buffer) => number {
  let rows = 0;
  let isQuoted = false;
  return (bytes) => {
    // By index: an iterator over the bytes takes four times as long, which is 4 ns a byte.
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      // A doubled quote inside quotes closes and opens them again.
      if (byte === quote) isQuoted = !isQuoted;
      else if (byte === lineFeed && !isQuoted) rows += 1;
    }
    return rows;
  };
}

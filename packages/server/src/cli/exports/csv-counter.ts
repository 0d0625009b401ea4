const quote = 0x22;
const lineFeed = 0x0a;

/** Counts the records of a CSV while it passes. */
export type CsvCounter = {
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

const quote = 0x22;
const lineFeed = 0x0a;

/** Counts the records of a CSV while it streams by: a line break inside quotes is part of a cell. */
export type RowCounter = {
  add(chunk: Uint8Array): void;
  /** Records so far; the last one counts when it is ended by a line break, or with `end`. */
  rows(): number;
  /** After the last chunk: also counts a last record without a line break. */
  end(): number;
  bytes(): number;
};

export function createRowCounter(options: { hasHeader: boolean }): RowCounter {
  let records = 0;
  let sizeBytes = 0;
  let isQuoted = false;
  let isAtStart = true;
  const rows = () => Math.max(0, records - (options.hasHeader ? 1 : 0));
  return {
    add(chunk) {
      // A doubled quote inside a cell toggles twice, which is the same as not at all.
      for (let index = 0; index < chunk.length; index += 1) {
        const byte = chunk[index];
        if (byte === quote) isQuoted = !isQuoted;
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

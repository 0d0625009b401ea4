/** How many rows one page looks at, at most, for a filter that no index serves. */
const mostScanned = 10_000;

/** What a statement reads of a list: rows after a key, in the order of the list. */
export type Scan<Key> = {
  readonly after: Key | null;
  readonly limit: number;
  /** How many rows are looked at for what is sought, at most; null when nothing is sought. */
  readonly scanLimit: number | null;
};

/**
 * The rows of a page, and the key to read on from if there may be more. With `isSought`, a filter that no index serves,
 * the page may be short or empty although there is more. Then it needs a snapshot: a row that is stored or moves between
 * its statements would move the end of the scan. `findEnd` finds the last row that a scan looked at; undefined when the
 * list ended before.
 */
export async function scanPage<Row, Key>(
  { after, limit }: { after: Key | null; limit: number },
  isSought: boolean,
  list: {
    read(scan: Scan<Key>): Promise<Row[]>;
    findEnd(scan: Scan<Key>): Promise<Key | undefined>;
    keyOf(row: Row): Key;
  },
): Promise<{ shown: Row[]; readOn: Key | undefined }> {
  const scan = { after, limit, scanLimit: isSought ? mostScanned : null };
  const found = await list.read(scan);
  const shown = found.slice(0, limit - 1);
  const last = found.length < limit ? undefined : shown.at(-1);
  if (last !== undefined) return { shown, readOn: list.keyOf(last) };
  return { shown, readOn: isSought ? await list.findEnd(scan) : undefined };
}

/** How many rows one page looks at, at most, for a filter that no index serves. */
const mostScanned = 10_000;

/** How a search for text reads: so many rows at once, of 256 KiB each, until it has taken this long. */
const textSearch = { stretch: 500, patienceMillis: 1000 };

/** What a statement reads of a list: rows after a key, in the order of the list. */
export type Scan<Key> = {
  readonly after: Key | null;
  readonly limit: number;
  /** How many rows are looked at for what is sought, at most; null when nothing is sought. */
  readonly scanLimit: number | null;
};

/** What a page is filtered by: what an index serves, what takes a look at each row, or at each payload and answer. */
export type SearchKind = 'none' | 'rows' | 'text';

type Scanned<Row, Key> = {
  shown: Row[];
  /** The key to read on from if there may be more. */
  readOn: Key | undefined;
  /** The last row that was looked at, where the page ended there without being full. */
  searchedTo: Key | null;
};

/**
 * The rows of a page. With a filter that no index serves, the page may be short or empty although there is more. Then it
 * needs a snapshot: a row that is stored or moves between its statements would move the end of the scan. `findEnd` finds
 * the last row that a scan looked at; undefined when the list ended before.
 */
export async function scanPage<Row, Key>(
  { after, limit }: { after: Key | null; limit: number },
  search: SearchKind,
  list: {
    read(scan: Scan<Key>): Promise<Row[]>;
    findEnd(scan: Scan<Key>): Promise<Key | undefined>;
    keyOf(row: Row): Key;
  },
): Promise<Scanned<Row, Key>> {
  const stretch = search === 'none' ? null : search === 'text' ? textSearch.stretch : mostScanned;
  const began = performance.now();
  const found: Row[] = [];
  let place = after;
  for (let looked = 0; ; ) {
    const scan = { after: place, limit: limit - found.length, scanLimit: stretch };
    found.push(...(await list.read(scan)));
    const shown = found.slice(0, limit - 1);
    const last = found.length < limit ? undefined : shown.at(-1);
    if (last !== undefined) return { shown, readOn: list.keyOf(last), searchedTo: null };
    const end = stretch === null ? undefined : await list.findEnd(scan);
    if (end === undefined) return { shown, readOn: undefined, searchedTo: null };
    looked += stretch ?? 0;
    const isLong = performance.now() - began > textSearch.patienceMillis;
    if (looked >= mostScanned || isLong) return { shown, readOn: end, searchedTo: end };
    place = end;
  }
}

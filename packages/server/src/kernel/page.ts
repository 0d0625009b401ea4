import { type CursorScope, decodeCursor, encodeCursor } from './cursor.ts';

/** What a list is asked for. `scope` binds its cursors to its name and filters; `limit` rows are shown, at most. */
type PageRequest = {
  readonly cursorKey: Buffer;
  readonly scope: CursorScope;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
};

type Key = readonly string[];

/** Where a statement begins, null = at the first row, and how many rows it reads: one more than are shown. */
type Keyset<K extends Key> = { readonly after: K | null; readonly limit: number };

/** One page as it is answered. */
export type Page<Row> = { data: Row[]; next_cursor: string | null };

const defaultLimit = 100;

/** Throws 400 `cursor_invalid`. */
export function toKeyset<K extends Key>(request: PageRequest): Keyset<K> {
  const { cursorKey, scope, limit = defaultLimit, cursor } = request;
  // Only this list can have signed it, so its key has the form that `toPage` was given.
  const after = cursor === undefined ? null : (decodeCursor(cursorKey, scope, cursor).key as K);
  return { after, limit: limit + 1 };
}

/** The rows that were read for a keyset as a page: the one too many tells that there is a next page. */
export function toPage<Row>(
  request: PageRequest,
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
): Page<Row> {
  const { limit = defaultLimit } = request;
  const data = rows.slice(0, limit);
  const last = rows.length > limit ? data.at(-1) : undefined;
  return { data, next_cursor: cursorAfter(request, last && keyOf(last)) };
}

/** The cursor of a page that begins behind a key; null when nothing lies behind it. */
export function cursorAfter(
  { cursorKey, scope }: PageRequest,
  key: Key | undefined,
): string | null {
  return key === undefined ? null : encodeCursor(cursorKey, scope, { direction: 'next', key });
}

/** Of what the caller does not reach. */
export function emptyPage(): { data: []; next_cursor: null } {
  return { data: [], next_cursor: null };
}

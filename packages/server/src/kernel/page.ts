import { type CursorScope, decodeCursor, encodeCursor } from './cursor.ts';

/**
 * What a list is asked for. `scope` binds the cursors to the name and the filters of the list. `limit` is the number of
 * rows shown at most, 100 when it is undefined.
 */
type PageRequest = {
  readonly cursorKey: Buffer;
  readonly scope: CursorScope;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
};

type Key = readonly string[];

/**
 * Where a statement begins and how many rows it reads. `after` is null at the first row; `limit` is one more than are
 * shown.
 */
type Keyset<K extends Key> = { readonly after: K | null; readonly limit: number };

/** One page as it is sent. `next_cursor` is null on the last page. */
export type Page<Row> = { data: Row[]; next_cursor: string | null };

const defaultLimit = 100;

/** Translates a request for a page to what its statement needs. Throws 400 `cursor_invalid`. */
export function toKeyset<K extends Key>(request: PageRequest): Keyset<K> {
  const { cursorKey, scope, limit = defaultLimit, cursor } = request;
  // Only this list can have signed the cursor, so its key has the form that `toPage` was given.
  const after = cursor === undefined ? null : (decodeCursor(cursorKey, scope, cursor).key as K);
  return { after, limit: limit + 1 };
}

/**
 * Makes a page of the rows that were read for a keyset. If there is one row more than may be shown, there is a next
 * page.
 */
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

/** Returns the cursor of the page that begins after this key; null without a key, because nothing follows. */
export function cursorAfter(
  { cursorKey, scope }: PageRequest,
  key: Key | undefined,
): string | null {
  return key === undefined ? null : encodeCursor(cursorKey, scope, { direction: 'next', key });
}

/** Returns the page for a tenant that the caller does not reach: the same as for one without rows. */
export function emptyPage(): { data: []; next_cursor: null } {
  return { data: [], next_cursor: null };
}

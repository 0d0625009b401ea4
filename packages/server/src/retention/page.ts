import { type CursorScope, decodeCursor, encodeCursor } from '../kernel/cursor.ts';

/** What a list is asked for. `scope` binds its cursors to its filters. */
type PageRequest = {
  readonly cursorKey: Buffer;
  readonly scope: CursorScope;
  readonly limit: number | undefined;
  readonly cursor: string | undefined;
};

type Keyset = { readonly after: readonly string[] | null; readonly limit: number };

const defaultLimit = 100;

/** Where a page begins and how many rows it holds. Throws 400 `cursor_invalid`. */
export function toKeyset({ cursorKey, scope, limit, cursor }: PageRequest): Keyset {
  const after = cursor === undefined ? null : decodeCursor(cursorKey, scope, cursor).key;
  return { after, limit: limit ?? defaultLimit };
}

/** The cursor that reads on behind a row; null when there is nothing behind it. */
export function cursorAfter(
  { cursorKey, scope }: PageRequest,
  key: readonly string[] | undefined,
): string | null {
  return key === undefined ? null : encodeCursor(cursorKey, scope, { direction: 'next', key });
}

/** One page: `read` is asked for one row more than the page shows, and so tells whether there are more. */
export async function readPage<Row>(
  request: PageRequest,
  read: (keyset: Keyset) => Promise<readonly Row[]>,
  keyOf: (row: Row) => readonly string[],
): Promise<{ data: Row[]; next_cursor: string | null }> {
  const { after, limit } = toKeyset(request);
  const rows = await read({ after, limit: limit + 1 });
  const data = rows.slice(0, limit);
  const last = rows.length > limit ? data.at(-1) : undefined;
  return { data, next_cursor: cursorAfter(request, last && keyOf(last)) };
}

import { useState } from 'react';

/** A search that goes from page to page, until it has found enough or is stopped. */
export type Searching<To> = {
  readonly to: To;
  readonly found: number;
  readonly stop: () => void;
};

/** A search may take many looks, and what it found does not change. */
export const searchPollMillis = 600_000;

type Searched<To> = { readonly next_cursor: string | null; readonly searched_to: To | null };

/**
 * Goes on where a page has ended without being full: a page looks at a limited number of rows, and whoever searches wants
 * more of them looked at. Answers the search while it goes on, and what reads on from a first page.
 */
export function useReadOn<To, Page extends Searched<To>>() {
  const [searching, setSearching] = useState<Searching<To> | null>(null);

  async function readOn(
    first: Page,
    search: {
      /** Reads the page at a cursor, of so many rows at most. */
      read: (cursor: string, limit: number) => Promise<Page>;
      rowsOf: (page: Page) => readonly unknown[];
      /** Both pages as one. */
      join: (before: Page, more: Page) => Page;
      /** So many rows are enough, and so many looks; the next page goes on from there. */
      enough: number;
      mostLooks: number;
    },
  ): Promise<Page> {
    const { read, rowsOf, join, enough, mostLooks } = search;
    let [page, isStopped] = [first, false];
    const stop = () => {
      isStopped = true;
    };
    try {
      for (let looks = 1; looks < mostLooks && !isStopped; looks += 1) {
        const { next_cursor: next, searched_to: to } = page;
        const found = rowsOf(page).length;
        if (to === null || next === null || found >= enough) break;
        setSearching({ to, found, stop });
        page = join(page, await read(next, enough - found));
      }
    } finally {
      setSearching(null);
    }
    return page;
  }

  return { searching, readOn };
}

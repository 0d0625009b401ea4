import type { DayWindow, Slice } from '../slice.ts';

/** The windows that a slice's tagged days lie in, cut to the slice's own store and days. */
export function taggedWindows({ dataset, tags, store, from, until }: Slice): DayWindow[] {
  if (dataset === undefined) throw new Error('the slice has no dataset');
  if (tags === undefined) throw new Error('a slice of a dataset is read without its tags');
  return tags[dataset]
    .filter((window) => store === undefined || window.store === null || window.store === store)
    .map((window) => ({
      store: window.store,
      from: from !== undefined && from > window.from ? from : window.from,
      until: until !== undefined && until < window.until ? until : window.until,
    }))
    .filter((window) => window.from < window.until);
}

import { Button, NativeSelect } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import { pageSizeOf, pageSizes, type RecordsSearch } from '../search.ts';
import { type RecordsPage, rangeText } from './records-page.ts';
import classes from './table.module.css';

export type RecordsPagerProps = {
  search: RecordsSearch;
  page: RecordsPage | undefined;
  isWaiting: boolean;
  /** Records of the node when nothing filters them. */
  total: number | null;
  onPage: (cursor: string | undefined, at: number | undefined) => void;
  onPageSize: (size: number) => void;
};

export function RecordsPager(props: RecordsPagerProps): ReactNode {
  const { search, page, isWaiting, total } = props;
  const { cursor } = search;
  const isFirst = cursor === undefined || (page?.prev_cursor === null && !isWaiting);
  const at = isFirst ? 0 : (search.at ?? 0);
  // A filtered page may be short anywhere: then places cannot be counted backwards.
  const isAtKnown = isFirst || search.at !== undefined;
  const rows = page?.lines.length ?? 0;
  const next = page?.next_cursor ?? null;
  const previous = page?.prev_cursor ?? null;
  const isFiltered = search.kind !== undefined || search.source !== undefined;
  const place = (records: number) =>
    isAtKnown && !isFiltered && records > 0 ? records : undefined;
  const range = useRef('');
  // While the next page is on its way, or cannot come, the rows shown are still the last ones.
  if (!isWaiting) {
    range.current = page
      ? rangeText({
          rows,
          hasNext: next !== null,
          at,
          isAtKnown: isAtKnown && !(isFiltered && !isFirst),
          total,
        })
      : '';
  }
  return (
    <div className={classes.pager}>
      <NativeSelect
        aria-label="Records a page"
        value={String(pageSizeOf(search))}
        data={pageSizes.map((size) => ({ value: String(size), label: `${size} a page` }))}
        onChange={(event) => props.onPageSize(Number(event.currentTarget.value))}
      />
      <span className={classes.range} role="status">
        {range.current}
      </span>
      <Button
        disabled={previous === null || isWaiting}
        onClick={() => previous !== null && props.onPage(previous, place(at - pageSizeOf(search)))}
      >
        ‹ PREV
      </Button>
      <Button
        disabled={next === null || isWaiting}
        onClick={() => next !== null && props.onPage(next, place(at + rows))}
      >
        NEXT ›
      </Button>
    </div>
  );
}

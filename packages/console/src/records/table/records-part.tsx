import { Button, NativeSelect } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { hasFilter } from '../../ui/hash-state.ts';
import listClasses from '../../ui/list-page.module.css';
import type { ChangeSearch } from '../../ui/use-search.ts';
import {
  changeFilters,
  changeSearch,
  pageSizeOf,
  pageSizes,
  type RecordsSearch,
  sliceOf,
  withoutPanel,
} from '../search.ts';
import { noFilters, RecordsFilters } from './records-filters.tsx';
import { type RecordsPage, rangeText, type useRecords, useTotal } from './records-page.ts';
import { RecordsTable } from './records-table.tsx';
import tableClasses from './table.module.css';

type RecordsPartProps = {
  search: RecordsSearch;
  update: ChangeSearch<RecordsSearch>;
  records: ReturnType<typeof useRecords>;
  /** The counters of the node: null when it has no records, undefined while they load. */
  facts: DatasetRow | null | undefined;
  /** Key of the record that the panel shows. */
  open: string | undefined;
  onOpen: (key: string) => void;
};

/** The records of the node: filters, one page of the table, and buttons to the other pages. */
export function RecordsPart(props: RecordsPartProps): ReactNode {
  const { search, update, records } = props;
  const { kind, source, event, dataset, cursor } = search;
  const total = useTotal(search, props.facts);
  return (
    <>
      <div className={`${listClasses.bar} ${tableClasses.bar}`}>
        <RecordsFilters
          search={search}
          onChange={(change) => update((before) => changeFilters(before, change))}
        />
      </div>
      <RecordsTable
        page={records}
        hasStore={search.store === undefined}
        isFiltered={hasFilter(search, noFilters)}
        open={props.open}
        place={JSON.stringify([sliceOf(search), kind, source, event, dataset, cursor])}
        onOpen={props.onOpen}
        onClearFilters={() => update((before) => changeFilters(before, noFilters))}
      />
      <RecordsPager
        search={search}
        page={records.data}
        isWaiting={records.isPlaceholderData}
        total={total}
        onPage={(next, at) =>
          update((before) => withoutPanel(changeSearch(before, { cursor: next, at }), ['record']))
        }
        onPageSize={(limit) => update((before) => changeSearch(before, { limit }))}
      />
    </>
  );
}

type RecordsPagerProps = {
  search: RecordsSearch;
  page: RecordsPage | undefined;
  isWaiting: boolean;
  /** Number of records with these filters; null where it is not known. */
  total: number | null;
  onPage: (cursor: string | undefined, at: number | undefined) => void;
  onPageSize: (size: number) => void;
};

/** Buttons to the previous and the next page, with the range of this one. */
function RecordsPager(props: RecordsPagerProps): ReactNode {
  const { search, page, isWaiting, total } = props;
  const { cursor } = search;
  const isFirst = cursor === undefined || (page?.prev_cursor === null && !isWaiting);
  const at = isFirst ? 0 : (search.at ?? 0);
  // A filtered page may be short anywhere, so positions cannot be counted backwards.
  const isAtKnown = isFirst || search.at !== undefined;
  const rows = page?.lines.length ?? 0;
  const next = page?.next_cursor ?? null;
  const previous = page?.prev_cursor ?? null;
  const isFiltered = [search.kind, search.source, search.event].some(
    (label) => label !== undefined,
  );
  const place = (records: number) =>
    isAtKnown && !isFiltered && records > 0 ? records : undefined;
  const range = useRef('');
  // While the next page loads, or fails to, the rows on the screen are still the previous ones.
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
    <div className={listClasses.pager}>
      <NativeSelect
        className={tableClasses.pageSize}
        aria-label="Records a page"
        value={String(pageSizeOf(search))}
        data={pageSizes.map((size) => ({ value: String(size), label: `${size} a page` }))}
        onChange={(event) => props.onPageSize(Number(event.currentTarget.value))}
      />
      <span className={tableClasses.range} role="status">
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

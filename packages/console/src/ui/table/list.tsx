import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import type { Page } from '../../api/types.ts';
import { FailurePanel, useFailure } from '../freshness.tsx';
import { hasFilter, noneOf } from '../hash-state.ts';
import { Empty, SkeletonRows } from '../list.tsx';
import pageClasses from '../list-page.module.css';
import type { UpdateSearch } from '../use-search.ts';
import { countOf } from '../words.ts';
import classes from './data-table.module.css';
import { DataTable, type DataTableProps } from './data-table.tsx';

type ListProps<Row> = Omit<DataTableProps<Row>, 'place' | 'isWaiting'> & {
  queries: readonly UseQueryResult<unknown>[];
  /** The name of the rows, as in "Loading the exports". */
  name: string;
  /** How many placeholder rows a first load shows. */
  placeholders?: number;
  /** Whether there are no rows, where that is not what `rows` says. */
  isEmpty?: boolean;
  /** What to show when there are no rows. */
  empty: ReactNode;
  place?: string;
};

/**
 * Shows the rows of one or more queries, or what takes their place: a first load, its failure, or that there are none.
 */
export function List<Row>(props: ListProps<Row>): ReactNode {
  const { queries, name, placeholders = 16, isEmpty, empty, place = '', ...table } = props;
  const failure = useFailure(...queries);
  if (queries.every(({ data }) => data !== undefined)) {
    if (isEmpty ?? table.rows.length === 0) return empty;
    const isWaiting = queries.some(({ isPlaceholderData }) => isPlaceholderData);
    return <DataTable {...table} place={place} isWaiting={isWaiting} />;
  }
  return (
    <div className={classes.scroller}>
      {failure === null ? (
        <SkeletonRows rows={placeholders} label={`Loading the ${name}`} />
      ) : (
        <FailurePanel
          error={failure}
          onRetry={() => {
            for (const query of queries) void query.refetch();
          }}
        />
      )}
    </div>
  );
}

/** What the hash has of a list that is read page by page. */
type PagedSearch = { cursor?: string; panel?: string };

type PagedListProps<Row, Search> = Omit<
  ListProps<Row>,
  'queries' | 'rows' | 'name' | 'empty' | 'place'
> & {
  query: UseQueryResult<Page<Row>>;
  /** The words for one row and for several. */
  one: string;
  many?: string;
  search: Search;
  update: UpdateSearch<Search>;
  /** The filters of the list, by their names. */
  filters: object;
  /** What to say when there are no rows: when filters leave none, when there are none at all, and what to do then. */
  words: { noMatch?: string; none: string; advice?: ReactNode };
};

/** The rows of the page that the hash names, and the buttons to the other pages. */
export function PagedList<Row, Search extends PagedSearch>(
  props: PagedListProps<Row, Search>,
): ReactNode {
  const { query, one, many = `${one}s`, search, update, filters, words, ...list } = props;
  const { noMatch = `No ${many} with these filters`, none, advice } = words;
  const isFiltered = hasFilter(search, filters);
  const clear = () => update(noneOf(filters) as Parameters<typeof update>[0]);
  const hasMore = typeof query.data?.next_cursor === 'string';
  return (
    <>
      <List
        {...list}
        queries={[query]}
        rows={query.data?.data ?? []}
        name={many}
        place={JSON.stringify({ ...search, panel: undefined })}
        empty={
          isFiltered || hasMore ? (
            <Empty
              title={hasMore ? `No match in this stretch of ${many}. NEXT reads on.` : noMatch}
              onClear={isFiltered ? clear : undefined}
            />
          ) : (
            <Empty title={none}>{advice}</Empty>
          )
        }
      />
      <Pager
        list={query}
        cursor={search.cursor}
        onCursor={(cursor) => update({ cursor } as Parameters<typeof update>[0])}
        one={one}
        many={many}
      />
    </>
  );
}

/**
 * Buttons to the next and the previous page. The API gives the cursor of the next page; the way back uses the cursors
 * through which this page was reached.
 */
function Pager(props: {
  list: UseQueryResult<Page<unknown>>;
  /** The cursor of this page; undefined on the first one. */
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  one: string;
  many: string;
}): ReactNode {
  const { list, cursor, onCursor, one, many } = props;
  const way = useRef<(string | undefined)[]>([]);
  if (cursor === undefined) way.current = [];
  const next = list.data?.next_cursor ?? null;
  const isWaiting = list.isPlaceholderData;
  return (
    <div className={pageClasses.pager}>
      <span role="status">
        {list.data && countOf(list.data.data.length, one, many)}
        {list.data && next !== null && ', and more'}
      </span>
      <Button
        disabled={cursor === undefined || isWaiting}
        onClick={() => onCursor(way.current.pop())}
      >
        ‹ PREV
      </Button>
      <Button
        disabled={next === null || isWaiting}
        onClick={() => {
          way.current.push(cursor);
          onCursor(next ?? undefined);
        }}
      >
        NEXT ›
      </Button>
    </div>
  );
}

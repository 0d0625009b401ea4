import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Page } from '../../api/types.ts';
import { formatCount, formatInstant, type Zone } from '../format.ts';
import { FailurePanel, useFailure } from '../freshness.tsx';
import { hasFilter, noneOf } from '../hash-state.ts';
import { Empty, SkeletonRows } from '../list.tsx';
import pageClasses from '../list-page.module.css';
import type { Searching } from '../poll.tsx';
import type { UpdateSearch } from '../use-search.ts';
import { countOf } from '../words.ts';
import { useZone } from '../zone-switch.tsx';
import classes from './data-table.module.css';
import { DataTable, type DataTableProps } from './data-table.tsx';
import { useHeldOrder } from './use-held-order.ts';

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

/** The rows of some queries, or what takes their place: a first load, its failure, or that there are none. */
export function List<Row>(props: ListProps<Row>): ReactNode {
  const { queries, name, placeholders = 16, isEmpty, empty, place = '', ...table } = props;
  const failure = useFailure(...queries);
  const isWaiting = queries.some(({ isPlaceholderData }) => isPlaceholderData);
  const isNone = isEmpty ?? table.rows.length === 0;
  // That there was nothing before says nothing of what is being read.
  if (queries.every(({ data }) => data !== undefined) && !(isNone && isWaiting)) {
    return isNone ? empty : <DataTable {...table} place={place} isWaiting={isWaiting} />;
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
export type PagedSearch = { cursor?: string; panel?: string };

export type PagedListProps<Row, Search> = Omit<
  ListProps<Row>,
  'queries' | 'rows' | 'name' | 'empty' | 'place'
> & {
  query: UseQueryResult<Page<Row> & { total?: number | null; searched_to?: string | null }> & {
    /** The search that goes on from page to page, where the list reads on by itself. */
    readonly searching?: Searching<string> | null;
  };
  /** The words for one row and for several. */
  one: string;
  many?: string;
  search: Search;
  update: UpdateSearch<Search>;
  /** Whether the service orders the rows by what changes: then no row moves while somebody is at them. */
  isRanked?: boolean;
  /** The filters of the list, by their names. */
  filters: object;
  /** What to say when there are no rows: when filters leave none, when there are none at all, and what to do then. */
  words: { noMatch?: string; none: string; advice?: ReactNode };
};

/** The rows of the page that the hash names, and the buttons to the other pages. */
export function PagedList<Row, Search extends PagedSearch>(
  props: PagedListProps<Row, Search>,
): ReactNode {
  const { query, one, many = `${one}s`, search, update, filters, words, ...others } = props;
  const { isRanked = false, ...list } = others;
  const { noMatch = `No ${many} with these filters`, none, advice } = words;
  const isFiltered = hasFilter(search, filters);
  const clear = () => update(noneOf(filters) as Parameters<typeof update>[0]);
  const hasMore = typeof query.data?.next_cursor === 'string';
  const place = JSON.stringify({ ...search, panel: undefined });
  const [rows, adopt] = useHeldOrder({
    rows: query.data?.data ?? [],
    keyOf: list.keyOf,
    place,
    at: query.dataUpdatedAt,
    isLoose: query.isPlaceholderData || !isRanked,
    isOpen: list.open !== undefined,
  });
  return (
    <>
      <List
        {...list}
        queries={[query]}
        rows={rows}
        name={many}
        place={place}
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
        onCursor={(cursor, way) => update({ cursor } as Parameters<typeof update>[0], { way })}
        onOrder={adopt}
        one={one}
        many={many}
      />
    </>
  );
}

/**
 * How many rows there are: `3 deliveries`, `100 of 1,204 deliveries`, `≥ 100 deliveries`, or of a later page, `100
 * deliveries, and more`; and how far a search has looked that was stopped.
 */
export function rowsText(
  page: Page<unknown> & { total?: number | null; searched_to?: string | null },
  words: { isFirst: boolean; one: string; many: string; zone: Zone },
): string {
  const { data, next_cursor: next, total, searched_to: to } = page;
  const { isFirst, one, many, zone } = words;
  const rows = countOf(data.length, one, many);
  const searched = to == null ? '' : `, searched to ${placeText(to, zone)}`;
  if (next === null) return rows;
  if (typeof total === 'number')
    return `${formatCount(data.length)} of ${countOf(total, one, many)}`;
  if (total === null && isFirst) return `≥ ${data.length === 0 ? `0 ${many}` : rows}${searched}`;
  return `${rows}, and more${searched}`;
}

const placeText = (to: string, zone: Zone) => formatInstant(to.replace(/\.\d+/, ''), zone);

/** Buttons to the next page, by the cursor from the API, and back, by those through which this one was reached. */
function Pager(props: {
  list: PagedListProps<unknown, unknown>['query'];
  /** The cursor of this page; undefined on the first one. */
  cursor: string | undefined;
  /** Goes to another page, with the cursors of those through which it is reached. */
  onCursor: (cursor: string | undefined, way: readonly (string | undefined)[]) => void;
  /** Shows the rows in the order in which they are by now; undefined: they are. */
  onOrder: (() => void) | undefined;
  one: string;
  many: string;
}): ReactNode {
  const { list, cursor, onCursor, onOrder, one, many } = props;
  const { searching = null } = list;
  const [zone] = useZone();
  const next = list.data?.next_cursor ?? null;
  const isWaiting = list.isPlaceholderData;
  const wayHere = () => (cursor === undefined ? [] : (window.history.state?.way ?? []));
  return (
    <div className={`row wrap end gap-8 flex-none line-over muted ${pageClasses.pager}`}>
      <span role="status">
        {searching === null
          ? list.data && rowsText(list.data, { isFirst: cursor === undefined, one, many, zone })
          : `searched to ${placeText(searching.to, zone)}, ${formatCount(searching.found)} found`}
      </span>
      {searching !== null && <Button onClick={searching.stop}>STOP</Button>}
      {onOrder !== undefined && (
        <Button variant="subtle" title="Rows have changed since you are at them" onClick={onOrder}>
          NEW ORDER
        </Button>
      )}
      <Button
        disabled={cursor === undefined || isWaiting}
        onClick={() => onCursor(wayHere().at(-1), wayHere().slice(0, -1))}
      >
        ‹ PREV
      </Button>
      <Button
        disabled={next === null || isWaiting}
        onClick={() => onCursor(next ?? undefined, [...wayHere(), cursor])}
      >
        NEXT ›
      </Button>
    </div>
  );
}

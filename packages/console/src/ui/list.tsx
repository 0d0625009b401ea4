import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import type { Page } from '../api/types.ts';
import { FailurePanel, useFailure } from './freshness.tsx';
import classes from './list-page.module.css';
import tableClasses from './table/data-table.module.css';
import { countOf } from './words.ts';

/**
 * Shows the rows of one or more queries, or what takes their place: a first load, its failure, or that there are none.
 */
export function List(props: {
  queries: readonly UseQueryResult<unknown>[];
  /** The name of the rows, as in "Loading the exports". */
  name: string;
  /** How many placeholder rows a first load shows. */
  rows?: number;
  isEmpty: boolean;
  /** What to show when there are no rows. */
  empty: ReactNode;
  children: ReactNode;
}): ReactNode {
  const { queries, name, rows = 16 } = props;
  const failure = useFailure(...queries);
  if (queries.every(({ data }) => data !== undefined)) {
    return props.isEmpty ? props.empty : props.children;
  }
  return (
    <div className={tableClasses.scroller}>
      {failure === null ? (
        <SkeletonRows rows={rows} label={`Loading the ${name}`} />
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

/** Says why there are no rows; if filters are set, it offers to remove them. */
export function Empty(props: {
  title: string;
  /** Removes the filters; undefined when none is set. */
  onClear?: (() => void) | undefined;
  children?: ReactNode;
}): ReactNode {
  return (
    <div className="empty">
      <h2>{props.title}</h2>
      {props.children}
      {props.onClear !== undefined && (
        <p>
          <button type="button" className="link-button" onClick={props.onClear}>
            Clear filters
          </button>
        </p>
      )}
    </div>
  );
}

/**
 * Buttons to the next and the previous page. The API gives the cursor of the next page; the way back uses the cursors
 * through which this page was reached.
 */
export function Pager(props: {
  list: UseQueryResult<Page<unknown>>;
  /** The cursor of this page; undefined on the first one. */
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  /** The words for one row and for several. */
  one: string;
  many?: string;
}): ReactNode {
  const { list, cursor, onCursor, one, many } = props;
  const way = useRef<(string | undefined)[]>([]);
  if (cursor === undefined) way.current = [];
  const next = list.data?.next_cursor ?? null;
  const isWaiting = list.isPlaceholderData;
  return (
    <div className={classes.pager}>
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

/** Placeholder rows of the size of the table to come, so that nothing moves when it is there. */
export function SkeletonRows({ rows, label }: { rows: number; label: string }): ReactNode {
  return (
    <div role="status" aria-label={label} className="clip">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike and never move
        <div key={row} className={`row line-under ${classes.skeletonRow}`}>
          <SkeletonText width={`${42 + ((row * 29) % 40)}%`} />
        </div>
      ))}
    </div>
  );
}

/** A placeholder for a line of text. */
export function SkeletonText({ width = '100%' }: { width?: string }): ReactNode {
  return <span className="bone" style={{ width }} aria-hidden="true" />;
}

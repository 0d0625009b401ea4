import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import type { Page } from '../api/types.ts';
import { FailurePanel, useFailure } from './freshness.tsx';
import classes from './list-page.module.css';
import { countOf } from './words.ts';

/** The rows of one or more queries, or what stands in their place: a first load, its failure, nothing at all. */
export function List(props: {
  queries: readonly UseQueryResult<unknown>[];
  /** As in "Loading the exports". */
  name: string;
  /** How many rows a first load seems to have. */
  rows?: number;
  isEmpty: boolean;
  /** In place of no rows. */
  empty: ReactNode;
  children: ReactNode;
}): ReactNode {
  const { queries, name, rows = 16 } = props;
  const failure = useFailure(...queries);
  if (queries.every(({ data }) => data !== undefined)) {
    return props.isEmpty ? props.empty : props.children;
  }
  return (
    <div className={classes.scroller}>
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

/** Why there are no rows; with filters, the way to be without them. */
export function Empty(props: {
  title: string;
  onClear?: (() => void) | undefined;
  children?: ReactNode;
}): ReactNode {
  return (
    <div className={classes.empty}>
      <h2>{props.title}</h2>
      {props.children}
      {props.onClear !== undefined && (
        <p>
          <button type="button" className={classes.textButton} onClick={props.onClear}>
            Clear filters
          </button>
        </p>
      )}
    </div>
  );
}

/** The API reads on from a cursor; the way back are the cursors that this page came along. */
export function Pager(props: {
  list: UseQueryResult<Page<unknown>>;
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  /** A row, and several of them, in words. */
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

/** Rows of the size of the table to come, so that nothing moves when it does. */
export function SkeletonRows({ rows, label }: { rows: number; label: string }): ReactNode {
  return (
    <div role="status" aria-label={label} className={classes.skeletonRows}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike and never move
        <div key={row} className={classes.skeletonRow}>
          <SkeletonText width={`${42 + ((row * 29) % 40)}%`} />
        </div>
      ))}
    </div>
  );
}

/** A line of text to come. */
export function SkeletonText({ width = '100%' }: { width?: string }): ReactNode {
  return <span className={classes.skeletonText} style={{ width }} aria-hidden="true" />;
}

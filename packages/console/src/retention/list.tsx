import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import type { Page } from '../api/types.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import classes from '../ui/list-page.module.css';
import { SkeletonRows } from '../ui/skeleton.tsx';
import type { UpdateSearch } from '../ui/use-search.ts';
import { countOf } from '../ui/words.ts';
import { hasFilter, noFilter } from './bar.tsx';
import type { RetentionSearch } from './search.ts';

type Update = UpdateSearch<RetentionSearch>;

/** A list, or what stands in its place: a first load, its failure, nothing at all. */
export function List<Row>(props: {
  list: UseQueryResult<Page<Row>>;
  search: RetentionSearch;
  update: Update;
  name: string;
  empty: ReactNode;
  children: (rows: readonly Row[]) => ReactNode;
}): ReactNode {
  const { list, search } = props;
  const failure = useFailure(list);
  if (list.data === undefined) {
    return (
      <div className={classes.scroller}>
        {failure === null ? (
          <SkeletonRows rows={16} label={`Loading the ${props.name}`} />
        ) : (
          <FailurePanel error={failure} onRetry={() => void list.refetch()} />
        )}
      </div>
    );
  }
  if (list.data.data.length > 0) return props.children(list.data.data);
  if (!hasFilter(search)) return <div className={classes.empty}>{props.empty}</div>;
  return (
    <div className={classes.empty}>
      <h2>No {props.name} with these filters</h2>
      <p>
        <button
          type="button"
          className={classes.textButton}
          onClick={() => props.update({ ...noFilter, cursor: undefined })}
        >
          Clear filters
        </button>
      </p>
    </div>
  );
}

/** The API reads on from a cursor; the way back are the cursors that this page came along. */
export function Pager(props: {
  list: UseQueryResult<Page<unknown>>;
  search: RetentionSearch;
  update: Update;
  one: string;
}): ReactNode {
  const { list, search, update } = props;
  const way = useRef<(string | undefined)[]>([]);
  const { cursor } = search;
  if (cursor === undefined) way.current = [];
  const next = list.data?.next_cursor ?? null;
  const isWaiting = list.isPlaceholderData;
  return (
    <div className={classes.pager}>
      <span role="status">
        {list.data && countOf(list.data.data.length, props.one)}
        {list.data && next !== null && ', and more'}
      </span>
      <Button
        disabled={cursor === undefined || isWaiting}
        onClick={() => update({ cursor: way.current.pop() })}
      >
        ‹ PREV
      </Button>
      <Button
        disabled={next === null || isWaiting}
        onClick={() => {
          way.current.push(cursor);
          update({ cursor: next ?? undefined });
        }}
      >
        NEXT ›
      </Button>
    </div>
  );
}

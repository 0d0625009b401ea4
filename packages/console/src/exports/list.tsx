import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import type { Page } from '../api/types.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import classes from '../ui/list-page.module.css';
import { SkeletonRows } from '../ui/skeleton.tsx';
import type { UpdateSearch } from '../ui/use-search.ts';
import { countOf } from '../ui/words.ts';
import { type ExportsSearch, hasFilter } from './search.ts';
import type { ExportJob } from './types.ts';

type ListProps = {
  list: UseQueryResult<Page<ExportJob>>;
  search: ExportsSearch;
  update: UpdateSearch<ExportsSearch>;
};

export const noFilter = { tenant: undefined, state: undefined, cursor: undefined } as const;

/** The jobs, or what stands in their place: a first load, its failure, nothing at all. */
export function List(
  props: ListProps & { children: (rows: readonly ExportJob[]) => ReactNode },
): ReactNode {
  const { list, search } = props;
  const failure = useFailure(list);
  if (list.data === undefined) {
    return (
      <div className={classes.scroller}>
        {failure === null ? (
          <SkeletonRows rows={16} label="Loading the exports" />
        ) : (
          <FailurePanel error={failure} onRetry={() => void list.refetch()} />
        )}
      </div>
    );
  }
  if (list.data.data.length > 0) return props.children(list.data.data);
  if (!hasFilter(search)) {
    return (
      <div className={classes.empty}>
        <h2>No exports yet</h2>
        <p>
          Choose a node in <a href="#/records">RECORDS</a> and export it as a job: it appears here.
        </p>
      </div>
    );
  }
  return (
    <div className={classes.empty}>
      <h2>No exports with these filters</h2>
      <p>
        <button type="button" className={classes.textButton} onClick={() => props.update(noFilter)}>
          Clear filters
        </button>
      </p>
    </div>
  );
}

/** The API reads on from a cursor; the way back are the cursors that this page came along. */
export function Pager({ list, search, update }: ListProps): ReactNode {
  const way = useRef<(string | undefined)[]>([]);
  const { cursor } = search;
  if (cursor === undefined) way.current = [];
  const next = list.data?.next_cursor ?? null;
  const isWaiting = list.isPlaceholderData;
  return (
    <div className={classes.pager}>
      <span role="status">
        {list.data && countOf(list.data.data.length, 'export')}
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

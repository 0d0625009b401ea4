import { ActionIcon, Tooltip } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { formatAge } from './format.ts';
import { useNow, usePolling, type Watched } from './freshness.tsx';
import { RefreshIcon } from './icons.tsx';
import classes from './list-page.module.css';

type Polled = Pick<UseQueryResult, 'dataUpdatedAt' | 'refetch'>;

/** Says how often the page asks and how old its oldest data is, with a button to ask now. */
export function PollNote(props: { queries: readonly Polled[]; millis?: number }): ReactNode {
  const { queries, millis = pollMillis } = props;
  const now = useNow(1000);
  const [isAsking, setAsking] = useState(false);
  const times = queries.map(({ dataUpdatedAt }) => dataUpdatedAt).filter((at) => at > 0);
  const age = now - Math.min(...times);
  const refresh = async () => {
    setAsking(true);
    await Promise.all(queries.map((query) => query.refetch({ cancelRefetch: false })));
    setAsking(false);
  };
  return (
    <div className={`row gap-4 muted small nowrap ${classes.pollNote}`}>
      <span className={classes.pollText}>
        <span className={classes.every}>every {millis / 1000} s · </span>
        <span className={classes.age}>
          {times.length > 0 && (age < 1000 ? 'just now' : `${formatAge(age)} ago`)}
        </span>
      </span>
      <Tooltip label="Read again now">
        <ActionIcon
          aria-label="Read again now"
          aria-busy={isAsking}
          data-asking={isAsking}
          onClick={() => void refresh()}
        >
          <RefreshIcon />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}

/** How often lists are read while all is well. */
export const pollMillis = 15_000;

/** How often the open parts of RECORDS are read. */
export const calmPollMillis = 30_000;

/** For `refetchInterval` of something that can be under way: often while it is, else calmly. */
export function useFollowing<T>(
  isUnderWay: (data: T) => boolean,
  closelyMillis: number,
  calmlyMillis = pollMillis,
): (query: Watched & { readonly state: { readonly data: T | undefined } }) => number {
  const closely = usePolling(closelyMillis);
  const calmly = usePolling(calmlyMillis);
  return (query) => {
    const { data } = query.state;
    return data !== undefined && isUnderWay(data) ? closely(query) : calmly(query);
  };
}

/**
 * For `placeholderData`, where the data of another key must not be shown. Without it, the query client would keep that
 * data on the screen.
 */
export function noPlaceholder(): undefined {
  return undefined;
}

/** The beginning of the query keys of everything about export jobs. Whoever makes a job invalidates it. */
export const exportsKey = ['exports'] as const;

import { ActionIcon, Tooltip } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { formatAge } from './format.ts';
import { useNow, usePolling } from './freshness.tsx';
import { RefreshIcon } from './icons.tsx';
import classes from './list-page.module.css';

type Query = Pick<UseQueryResult, 'dataUpdatedAt' | 'refetch'>;

/** How often the page asks, how old its oldest data is, and a button to ask now. */
export function PollNote(props: { queries: readonly Query[]; millis?: number }): ReactNode {
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
    <div className={classes.pollNote}>
      <span>
        every {millis / 1000} s
        <span className={classes.age}>
          {times.length > 0 && `· ${age < 1000 ? 'just now' : `${formatAge(age)} ago`}`}
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

/** How often the pages of webhooks are read again while all is well. */
export const pollMillis = 15_000;

/** As `refetchInterval` of a query of any kind: the frame's type names only one. */
export function usePollOf(millis: number): (query: unknown) => number {
  return usePolling(millis) as unknown as (query: unknown) => number;
}

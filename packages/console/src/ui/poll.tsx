import { ActionIcon, Tooltip } from '@mantine/core';
import {
  type QueryKey,
  type UseQueryResult,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, type Params } from '../api/client.ts';
import { formatAge } from './format.ts';
import { isAside as ofNoPage, useNow, usePolling } from './freshness.tsx';
import { RefreshIcon } from './icons.tsx';
import classes from './list-page.module.css';

export type PollNoteProps = {
  /** What the page lists. */
  queries: readonly UseQueryResult<unknown>[];
  millis?: number;
};

/** Says how often the page asks and how old its oldest data is, with a button. */
export function PollNote({ queries, millis = pollMillis }: PollNoteProps): ReactNode {
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
        <span className={classes.every}>
          every {millis / 1000} s{times.length > 0 && ' · '}
        </span>
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

/** How something is read. Without any of these it is read every 15 seconds while it is shown. */
type ReadOptions<T> = {
  /** Whether somebody is about to confirm it: it is read when it is shown, and an older answer would not do. */
  readonly isFresh?: boolean;
  readonly params?: Params;
  readonly isWanted?: boolean;
  /** Whether the data of the key before must not be shown meanwhile, as it is otherwise. */
  readonly isOne?: boolean;
  /** What is known of it before it is read. */
  readonly known?: T | undefined;
  /** How often it is read while all is well; null reads it again only after a failure. */
  readonly everyMillis?: number | null;
  /** What can be under way, and how often it is read while it is. */
  readonly follow?: readonly [isUnderWay: (data: T) => boolean, closelyMillis: number];
  readonly staleMillis?: number;
  /** Whether its place tells that it failed: the page stays up to date without it. */
  readonly isAside?: boolean;
};

/** Reads a path of the API, or what a function answers, and reads it again as the options say. */
export function useRead<T>(
  queryKey: QueryKey,
  from: string | ((signal: AbortSignal) => Promise<T>),
  options: ReadOptions<T> = {},
): UseQueryResult<T> {
  const { params, isFresh = false, isWanted = true, isOne = isFresh } = options;
  const { everyMillis = isFresh ? null : pollMillis } = options;
  const { follow: [isUnderWay, closelyMillis] = [() => false, 0], staleMillis } = options;
  const client = useQueryClient();
  const hasFailed = () => (client.getQueryState(queryKey)?.errorUpdateCount ?? 0) > 0;
  const closely = usePolling(closelyMillis);
  const calmly = usePolling(everyMillis ?? 0);
  return useQuery<T>({
    queryKey,
    enabled: isWanted,
    queryFn: ({ signal }) =>
      typeof from === 'string' ? api.get<T>(from, params, signal) : from(signal),
    // Once it has failed, the failure stands in its place, also while it is tried again.
    placeholderData: (before) => {
      if (hasFailed()) return undefined;
      return ('known' in options ? options.known : isOne ? undefined : before) as never;
    },
    ...(everyMillis !== null && {
      refetchInterval: (query) => {
        const { data } = query.state;
        return data !== undefined && isUnderWay(data) ? closely(query) : calmly(query);
      },
    }),
    ...(staleMillis !== undefined && { staleTime: staleMillis }),
    ...(options.isAside && { meta: ofNoPage }),
    ...(isFresh && { staleTime: 0, gcTime: 0, refetchOnWindowFocus: false }),
  });
}

/** For `staleMillis` of what never changes. */
export const neverStale = Number.POSITIVE_INFINITY;

/** The beginning of the query keys of everything about export jobs. Whoever makes a job invalidates it. */
export const exportsKey = ['exports'] as const;

/** A search that goes from page to page, until it has found enough or is stopped. */
export type Searching<To> = { readonly to: To; readonly found: number; readonly stop: () => void };

/** A search may take many looks, and what it found does not change. */
export const searchPollMillis = 600_000;

type Searched<To> = { readonly next_cursor: string | null; readonly searched_to: To | null };

/** Goes on where a page, which looks at so many rows at most, is not full. Answers the search, and what reads on. */
export function useReadOn<To, Page extends Searched<To>>() {
  const [searching, setSearching] = useState<Searching<To> | null>(null);

  async function readOn(
    first: Page,
    search: {
      /** Reads the page at a cursor, of so many rows at most. */
      read: (cursor: string, limit: number) => Promise<Page>;
      rowsOf: (page: Page) => readonly unknown[];
      /** Both pages as one. */
      join: (before: Page, more: Page) => Page;
      /** So many rows are enough, and so many looks; the next page goes on from there. */
      enough: number;
      mostLooks: number;
    },
  ): Promise<Page> {
    const { read, rowsOf, join, enough, mostLooks } = search;
    let [page, isStopped] = [first, false];
    const stop = () => {
      isStopped = true;
    };
    try {
      for (let looks = 1; looks < mostLooks && !isStopped; looks += 1) {
        const { next_cursor: next, searched_to: to } = page;
        const found = rowsOf(page).length;
        if (to === null || next === null || found >= enough) break;
        setSearching({ to, found, stop });
        page = join(page, await read(next, enough - found));
      }
    } finally {
      setSearching(null);
    }
    return page;
  }

  return { searching, readOn };
}

import { Button } from '@mantine/core';
import {
  keepPreviousData,
  QueryClient,
  QueryClientProvider,
  type UseQueryResult,
  useQueryClient,
} from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import { ApiError } from '../api/client.ts';
import { formatAge, formatClock } from './format.ts';
import classes from './freshness.module.css';
import { WarningIcon } from './icons.tsx';
import {
  describeFailure,
  type Freshness,
  freshnessOf,
  nextOutage,
  type Outage,
  type QueryState,
} from './outage.ts';
import { useZone } from './zone-switch.tsx';

/** The outages of the queries of one client. */
export type OutageLog = { readonly outageOf: (query: Watched) => Outage | undefined };

/** A query of any type of data. */
export type Watched = { readonly state: QueryState };

/** Where the frame keeps a line for the freshness of the page, so that nothing moves when it speaks. */
export const statusLineId = 'status-line';

/**
 * The policy of every query: the data of the last key stays while the next one loads; a failure is shown
 * at once and tried again (5xx, no connection, 429: 2 s doubling to 2 min; never another 4xx); no
 * polling, unless a page asks by `usePolling`.
 */
export function createQueryClient(random: () => number = Math.random): {
  client: QueryClient;
  outages: OutageLog;
} {
  const known = new WeakMap<Watched, Outage>();
  const outages: OutageLog = {
    outageOf(query) {
      const outage = nextOutage(known.get(query), query.state, random);
      if (outage === undefined) known.delete(query);
      else known.set(query, outage);
      return outage;
    },
  };
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        // Not by `retry`: a query that retries says neither that it failed nor when it goes next.
        retry: false,
        refetchInterval: (query) => outages.outageOf(query)?.delayMillis ?? false,
        refetchOnWindowFocus: (query) => (query.state.status === 'error' ? 'always' : true),
        refetchOnReconnect: (query) => (query.state.status === 'error' ? 'always' : true),
        // navigator.onLine knows of cables, not of services.
        networkMode: 'always',
        staleTime: 10_000,
        placeholderData: keepPreviousData,
      },
      mutations: { networkMode: 'always' },
    },
  });
  return { client, outages };
}

const OutageContext = createContext<OutageLog>({ outageOf: () => undefined });

export function FreshnessProvider(props: {
  client: QueryClient;
  outages: OutageLog;
  children: ReactNode;
}): ReactNode {
  return (
    <QueryClientProvider client={props.client}>
      <OutageContext value={props.outages}>{props.children}</OutageContext>
    </QueryClientProvider>
  );
}

/** For `refetchInterval` of a page that polls: this often while all is well, backing off while not. */
export function usePolling(millis: number): (query: Watched) => number {
  const { outageOf } = use(OutageContext);
  return (query) => outageOf(query)?.delayMillis ?? millis;
}

/**
 * The failure of a first load: of several queries, that of the first one that failed. It stays while the load is tried again, when the query itself already
 * calls itself pending, so that the panel does not flicker.
 */
export function useFailure(...queries: readonly UseQueryResult<unknown>[]): Error | null {
  const outages = useOutages(queries);
  const errors = queries.map(({ error }, index) => error ?? outages[index]?.error ?? null);
  return errors.find((error) => error !== null) ?? null;
}

/** Each query's outage. A result does not name its query: time and number of its failures do. */
function useOutages(results: readonly UseQueryResult<unknown>[]): (Outage | undefined)[] {
  const cache = useQueryClient().getQueryCache();
  const { outageOf } = use(OutageContext);
  return results.map((result) => {
    if (result.errorUpdatedAt === 0) return undefined;
    const query = cache
      .getAll()
      .find(
        ({ state }) =>
          state.errorUpdatedAt === result.errorUpdatedAt &&
          state.errorUpdateCount === result.errorUpdateCount,
      );
    return query === undefined ? undefined : outageOf(query);
  });
}

/**
 * How fresh the data of a page is, in the frame's status line: quiet while all is well; while the API
 * fails, what failed, since when, how old the data shown is, when the next try is, and RETRY.
 */
export function FreshnessBanner({
  queries,
  isAgeElsewhere = false,
}: {
  queries: readonly UseQueryResult<never>[] | readonly UseQueryResult<unknown>[];
  /** The page itself says how old its data is while all is well. */
  isAgeElsewhere?: boolean;
}): ReactNode {
  const results = queries as readonly UseQueryResult<unknown>[];
  const outages = useOutages(results);
  const freshness = freshnessOf(results.map((state, index) => ({ state, outage: outages[index] })));
  const retry = () => {
    for (const [index, query] of results.entries()) {
      if (outages[index] !== undefined) void query.refetch({ cancelRefetch: false });
    }
  };
  const isTrying = results.some(
    ({ isFetching }, index) => isFetching && outages[index] !== undefined,
  );
  if (isAgeElsewhere && freshness.kind === 'fresh') return null;
  const slot = document.getElementById(statusLineId);
  const line = <StatusLine freshness={freshness} isTrying={isTrying} onRetry={retry} />;
  return slot === null ? line : createPortal(line, slot);
}

function StatusLine(props: {
  freshness: Freshness;
  isTrying: boolean;
  onRetry: () => void;
}): ReactNode {
  const { freshness } = props;
  switch (freshness.kind) {
    case 'empty':
      return null;
    case 'fresh':
      return <Updated at={freshness.updatedAt} />;
    case 'failing':
      return (
        <Failing
          outage={freshness.outage}
          dataOf={freshness.dataOf}
          isTrying={props.isTrying}
          onRetry={props.onRetry}
        />
      );
  }
}

function Updated({ at }: { at: number }): ReactNode {
  const now = useNow(1000);
  const age = now - at < 1000 ? 'just now' : `${formatAge(now - at)} ago`;
  return <span className={classes.quiet}>updated {age}</span>;
}

function Failing({
  outage,
  dataOf,
  isTrying,
  onRetry,
}: {
  outage: Outage;
  dataOf: number;
  isTrying: boolean;
  onRetry: () => void;
}): ReactNode {
  const [zone] = useZone();
  const now = useNow(1000);
  const { error } = outage;
  const requestId = error instanceof ApiError ? error.requestId : null;
  const age = dataOf === 0 ? '' : ` (${formatAge(now - dataOf)} old)`;
  return (
    <div className={classes.failing} data-failing>
      <WarningIcon />
      {/* Spoken once: what changes every second stands outside. */}
      <span role="status">
        <strong>{describeFailure(error)}</strong> since {formatClock(outage.since, zone)}
        {dataOf === 0 ? '' : ` · showing data of ${formatClock(dataOf, zone)}`}
      </span>
      <span className={classes.count}>
        {age} · {nextTryText(outage, isTrying, now)}
        {requestId === null ? '' : ' · request '}
        {requestId !== null && <code>{requestId}</code>}
      </span>
      <Button size="compact-xs" variant="default" className={classes.retry} onClick={onRetry}>
        RETRY
      </Button>
    </div>
  );
}

function nextTryText({ nextTryAt }: Outage, isTrying: boolean, now: number): string {
  if (isTrying) return 'trying now …';
  if (nextTryAt === null) return 'not tried again by itself';
  return `next try in ${Math.max(0, Math.ceil((nextTryAt - now) / 1000))} s`;
}

/** In place of what a first load that failed would have shown. */
export function FailurePanel({ error, onRetry }: { error: Error; onRetry: () => void }): ReactNode {
  const cache = useQueryClient().getQueryCache();
  const { outageOf } = use(OutageContext);
  const query = cache.getAll().find((each) => outageOf(each)?.error === error);
  const outage = query === undefined ? undefined : outageOf(query);
  const now = useNow(1000);
  const details = error instanceof ApiError ? error : null;
  const isTrying = query?.state.fetchStatus === 'fetching';
  return (
    <section className={classes.panel} role="alert">
      <h2>{panelTitle(error)}</h2>
      <p>{panelText(error)}</p>
      {details?.errors.map(({ path, message }) => (
        <p key={`${path} ${message}`}>
          <code>{path}</code> {message}
        </p>
      ))}
      <div className={classes.actions}>
        {details?.status !== 403 && <Button onClick={onRetry}>RETRY</Button>}
        {outage !== undefined && outage.nextTryAt !== null && (
          <span className={classes.quiet}>{nextTryText(outage, isTrying, now)}</span>
        )}
      </div>
      {details !== null && details.requestId !== null && (
        <p className={classes.quiet}>
          {details.code} · request <code>{details.requestId}</code>
        </p>
      )}
    </section>
  );
}

function panelTitle(error: Error): string {
  if (!(error instanceof ApiError)) return 'This page made a mistake';
  switch (error.status) {
    case 0:
      return error.code === 'timeout'
        ? 'The service takes too long'
        : 'No connection to the service';
    case 401:
      return 'You are signed out';
    case 403:
      return 'Your token may not see this';
    case 404:
      return 'There is no such thing here';
    case 429:
      return 'Too many requests';
    default:
      return error.status >= 500
        ? `The service cannot answer (${error.status})`
        : `The service refused this (${error.status})`;
  }
}

function panelText(error: Error): string {
  if (!(error instanceof ApiError)) return error.message;
  switch (error.status) {
    case 0:
      return `${error.detail} This page tries again by itself and shows the data as soon as it is there.`;
    case 404:
      return `${error.detail} It may have been removed, or lie outside the tenants of your token.`;
    default:
      return error.detail;
  }
}

/** The time now, anew every so many milliseconds while the page is seen. */
export function useNow(everyMillis: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMillis);
    return () => clearInterval(timer);
  }, [everyMillis]);
  // Data that came after the last tick is not from the future.
  return Math.max(now, Date.now());
}

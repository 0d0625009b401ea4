import { Button } from '@mantine/core';
import {
  notifyManager,
  type Query,
  QueryClient,
  QueryClientProvider,
  type UseQueryResult,
  useQueryClient,
} from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  use,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { createPortal } from 'react-dom';
import { ApiError } from '../api/client.ts';
import { formatAge, formatClock } from './format.ts';
import classes from './freshness.module.css';
import { WarningIcon } from './icons.tsx';
import {
  describeFailure,
  failureOf,
  isPassing,
  nextOutage,
  type Outage,
  type QueryState,
} from './outage.ts';
import { useZone } from './zone-switch.tsx';

/** The outages of the queries of one query client. */
type OutageLog = { readonly outageOf: (query: Watched) => Outage | undefined };

/** A query, whatever the type of its data. */
type Watched = { readonly state: QueryState };

/** Id of the line in the frame that tells how fresh the page is. It has its room always, so that nothing moves. */
export const statusLineId = 'status-line';

/**
 * Makes the query client with the policy for every query. A failure is shown at once, and tried again if it may pass
 * (5xx, no connection, 429: after 2 s, doubling to 12 s; never after another 4xx). Nothing is polled unless a page asks
 * for it by `usePolling`.
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
        // The library's `retry` is not used: a query that retries tells neither that it failed nor when it is tried
        // next.
        retry: false,
        refetchInterval: (query) => outages.outageOf(query)?.delayMillis ?? false,
        refetchOnWindowFocus: (query) => (query.state.status === 'error' ? 'always' : true),
        refetchOnReconnect: (query) => (query.state.status === 'error' ? 'always' : true),
        // The library would trust navigator.onLine, which knows about the network, not about the service.
        networkMode: 'always',
        staleTime: 10_000,
      },
      mutations: { networkMode: 'always' },
    },
  });
  return { client, outages };
}

const OutageContext = createContext<OutageLog>({ outageOf: () => undefined });

/** Gives the pages the query client and its outages. */
export function FreshnessProvider(props: {
  client: QueryClient;
  outages: OutageLog;
  children: ReactNode;
}): ReactNode {
  return (
    <QueryClientProvider client={props.client}>
      <OutageContext value={props.outages}>
        <Failures>{props.children}</Failures>
      </OutageContext>
    </QueryClientProvider>
  );
}

/** For `refetchInterval` of a page that polls: every `millis` while all is well, and less often during an outage. */
export function usePolling(millis: number): (query: Watched) => number {
  const { outageOf } = use(OutageContext);
  return (query) => outageOf(query)?.delayMillis ?? millis;
}

/** The first failure of some first loads. It stays while they are tried again, so that the panel does not flicker. */
export function useFailure(...queries: readonly UseQueryResult<unknown>[]): Error | null {
  const held = useRef<Error | null>(null);
  const error = queries.find((query) => query.error !== null)?.error ?? null;
  const isTryingAgain = queries.some((query) => query.isPending && query.errorUpdatedAt > 0);
  if (error !== null || !isTryingAgain) held.current = error;
  return held.current;
}

const FailureContext = createContext<ReturnType<typeof failureOf>>(null);
const StaleContext = createContext(false);

/** Looks at all queries that are shown, for the banner and for the buttons that act on what they show. */
function Failures({ children }: { children: ReactNode }): ReactNode {
  const client = useQueryClient();
  const { outageOf } = use(OutageContext);
  const look = () => {
    const shown = client.getQueryCache().findAll({ type: 'active' }).filter(isTold);
    return failureOf(
      shown.map((query) => ({
        state: query.state,
        outage: outageOf(query),
        isStale: query.isStale(),
        isTrying: query.state.fetchStatus === 'fetching',
      })),
    );
  };
  useSyncExternalStore(
    (tell) =>
      client.getQueryCache().subscribe(
        notifyManager.batchCalls(({ type }) => {
          // What else happens to queries, at each draw, changes nothing of this.
          if (type === 'updated' || type === 'observerRemoved') tell();
        }),
      ),
    () => JSON.stringify(look()),
  );
  const failure = look();
  return (
    <FailureContext value={failure}>
      <StaleContext value={failure !== null && isPassing(failure.outage.error)}>
        {children}
      </StaleContext>
    </FailureContext>
  );
}

/** Whether what the page shows may be old, because it cannot be read now. */
export function useIsStale(): boolean {
  return use(StaleContext);
}

/** The place below the frame's header, which takes room only while something that is shown cannot be read. */
export function Banner({ className }: { className: string | undefined }): ReactNode {
  const client = useQueryClient();
  const { outageOf } = use(OutageContext);
  const failure = use(FailureContext);
  // What is shown in place of a first load has no button of its own meanwhile.
  const retry = () => {
    const predicate = (query: Watched) => outageOf(query) !== undefined;
    void client.refetchQueries({ type: 'active', predicate }, { cancelRefetch: false });
  };
  return (
    <div id="banner" className={className}>
      {failure !== null && <Failing {...failure} onRetry={retry} />}
    </div>
  );
}

/** For `meta` of what is no data of a page: nothing is told of it but what stands in its place. */
export const isAside = { isAside: true } as const;

function isTold({ meta }: Query): boolean {
  return meta?.isAside !== true;
}

/** Tells in the frame's status line how old the data of a page is. */
export function UpdatedLine({ queries }: { queries: readonly UseQueryResult[] }): ReactNode {
  const times = queries.map(({ dataUpdatedAt }) => dataUpdatedAt).filter((at) => at > 0);
  const slot = document.getElementById(statusLineId);
  if (slot === null || times.length === 0) return null;
  return createPortal(<Updated at={Math.min(...times)} />, slot);
}

function Updated({ at }: { at: number }): ReactNode {
  const now = useNow(1000);
  const age = now - at < 1000 ? 'just now' : `${formatAge(now - at)} ago`;
  return <span className="muted nowrap">updated {age}</span>;
}

/** The line while the API fails, with the age of the data and the time until the next try. */
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
    <div className={`row grow gap-8 ${classes.failing}`} data-failing>
      <WarningIcon />
      <span className="grow">
        {/* A screen reader speaks this once; what changes every second stands outside of it. */}
        <span role="status">
          <strong>{describeFailure(error)}</strong> since {formatClock(outage.since, zone)}
          {dataOf === 0 ? '' : ` · showing data of ${formatClock(dataOf, zone)}`}
        </span>
        {age} · {nextTryText(outage, isTrying, now)}
        {requestId === null ? '' : ' · request '}
        {requestId !== null && <code>{requestId}</code>}
      </span>
      <Button size="compact-xs" variant="default" className="flex-none" onClick={onRetry}>
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

/** Stands in place of what a first load would have shown, when it failed. */
export function FailurePanel({ error, onRetry }: { error: Error; onRetry: () => void }): ReactNode {
  const cache = useQueryClient().getQueryCache();
  const { outageOf } = use(OutageContext);
  const query = cache.getAll().find((each) => outageOf(each)?.error === error);
  const outage = query === undefined ? undefined : outageOf(query);
  const now = useNow(1000);
  const details = error instanceof ApiError ? error : null;
  const isTrying = query?.state.fetchStatus === 'fetching';
  return (
    <section className="message" role="alert">
      <h2>{panelTitle(error)}</h2>
      <p>{panelText(error)}</p>
      {details?.errors.map(({ path, message }) => (
        <p key={`${path} ${message}`}>
          <code>{path}</code> {message}
        </p>
      ))}
      <div className={`row gap-16 ${classes.actions}`}>
        {details?.status !== 403 && (
          <Button className={classes.retry} onClick={onRetry}>
            RETRY
          </Button>
        )}
        {outage !== undefined && outage.nextTryAt !== null && (
          <span className="muted nowrap">{nextTryText(outage, isTrying, now)}</span>
        )}
      </div>
      {details !== null && details.requestId !== null && (
        <p className="muted nowrap">
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

/** The present time in milliseconds, updated at this interval while the page is visible. */
export function useNow(everyMillis: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMillis);
    return () => clearInterval(timer);
  }, [everyMillis]);
  // Data may have arrived after the last tick, and must not seem to come from the future.
  return Math.max(now, Date.now());
}

import { Button } from '@mantine/core';
import {
  type QueryClient,
  type QueryKey,
  queryOptions,
  type UseQueryResult,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useEffect } from 'react';
import { ApiError } from '../api/client.ts';
import classes from './freshness.module.css';
import { FailurePanel, useFailure } from './freshness.tsx';

type Script<Props> = () => Promise<ComponentType<Props>>;

/** With this the query keys of scripts begin. */
export const scriptKey = 'script';
const noAnswerMillis = 10_000;
/** Between two scripts that are loaded ahead. */
const restMillis = 250;
/** After a reload that did not help, the page does not reload again within this time. */
const reloadPauseMillis = 60_000;
const updatedCode = 'console_updated';
const updatedKey = 'svcctl:updated';
const reloadedKey = 'svcctl:reloaded-at';

/**
 * A page, or most of one, whose script is loaded when it is first shown. The script is a query, like all data: while it cannot be
 * loaded, the page says so, tries again by itself, and appears as soon as the script is there. `name` must be unique
 * among all parts.
 */
export function lazyPage<Props extends object>(name: string, load: Script<Props>) {
  const options = scriptQuery(name, load);
  function Page(props: Props): ReactNode {
    const query = useQuery(options);
    const failure = useFailure(query);
    if (query.data !== undefined) return <query.data.Part {...props} />;
    if (failure === null) return null;
    return <FailurePanel error={failure} onRetry={() => retry(query)} />;
  }
  /** Starts to load the script before the page is shown. */
  Page.preload = (client: QueryClient) => client.prefetchQuery(options);
  Page.preloadQuietly = quietly(options.queryKey, load);
  return Page;
}

/** The same for a part that lies over a page: a drawer, a panel, a dialog. */
export function lazyPart<Props extends { onClose: () => void }>(name: string, load: Script<Props>) {
  const options = scriptQuery(name, load);
  function Part(props: Props): ReactNode {
    const query = useQuery(options);
    if (query.data !== undefined) return <query.data.Part {...props} />;
    return <FailedPart query={query} onClose={props.onClose} />;
  }
  Part.preloadQuietly = quietly(options.queryKey, load);
  return Part;
}

/** The same for a part that a page can do without: `whenFailed` stands in its place if it cannot be loaded. */
export function lazyPiece<Props extends object>(
  name: string,
  load: Script<Props>,
  whenFailed: ReactNode,
) {
  const options = scriptQuery(name, load);
  function Piece(props: Props): ReactNode {
    const query = useQuery(options);
    const failure = useFailure(query);
    if (query.data !== undefined) return <query.data.Part {...props} />;
    return failure === null ? null : whenFailed;
  }
  Piece.preloadQuietly = quietly(options.queryKey, load);
  return Piece;
}

/** Loads the script of a part that may be opened later. Whether that fails shows when somebody opens it. */
type PreloadQuietly = (client: QueryClient) => Promise<void>;

function quietly<Props>(queryKey: QueryKey, load: Script<Props>): PreloadQuietly {
  return async (client) => {
    if (client.getQueryData(queryKey) !== undefined) return;
    const Part = await load().catch(() => undefined);
    if (Part !== undefined) client.setQueryData(queryKey, { Part });
  };
}

/** Loads the scripts of `parts`, one after the other, while the page rests and waits for no answer. */
export function useIdlePreload(parts: readonly { preloadQuietly: PreloadQuietly }[]): void {
  const client = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is there
  useEffect(() => {
    const left = [...parts];
    let timer: number | undefined;
    const wait = () => {
      timer = window.setTimeout(() => void next(), restMillis);
    };
    const next = async () => {
      if (client.isFetching() === 0 && !document.hidden) await left.shift()?.preloadQuietly(client);
      if (timer !== undefined && left.length > 0) wait();
    };
    wait();
    return () => {
      window.clearTimeout(timer);
      timer = undefined;
    };
  }, []);
}

function FailedPart(props: { query: UseQueryResult; onClose: () => void }): ReactNode {
  const { query, onClose } = props;
  const failure = useFailure(query);
  if (failure === null) return null;
  return (
    <aside className={classes.failedPart}>
      <FailurePanel error={failure} onRetry={() => retry(query)} />
      <Button size="compact-sm" variant="subtle" onClick={onClose}>
        Close
      </Button>
    </aside>
  );
}

function retry(query: UseQueryResult): void {
  // A person who presses RETRY need not wait for the pause between reloads.
  if (query.error instanceof ApiError && query.error.code === updatedCode) window.location.reload();
  else void query.refetch();
}

function scriptQuery<Props>(name: string, load: Script<Props>) {
  return queryOptions({
    queryKey: [scriptKey, name],
    queryFn: async () => ({ Part: await loadScript(load) }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
}

async function loadScript<Props>(load: Script<Props>): Promise<ComponentType<Props>> {
  try {
    return await load();
  } catch (cause) {
    const served = await readServedPage();
    if (served === null) throw scriptFailure(cause);
    // The service that served this page was replaced by a newer one, which no longer has the old scripts.
    if (!served.includes(ownScript())) throw reloadUpdated(cause);
    // Some browsers remember a failed import for as long as the page lives: only a reload tries it again.
    reloadOnce();
    throw scriptFailure(cause);
  }
}

function scriptFailure(cause: unknown): ApiError {
  const detail = 'A script of this page could not be loaded.';
  return new ApiError({ status: 0, code: 'script_unavailable', detail }, { cause });
}

/** The page as the service serves it now; null when the service does not answer. */
async function readServedPage(): Promise<string | null> {
  try {
    const signal = AbortSignal.timeout(noAnswerMillis);
    const response = await fetch('/', { cache: 'no-store', signal });
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}

/** The address of the script with which this tab began. Its name contains a hash of the build. */
function ownScript(): string {
  return document.querySelector('script[type="module"][src]')?.getAttribute('src') ?? '';
}

/** Reloads the page. The new console opens at the same place, because the address holds it. */
function reloadUpdated(cause: unknown): ApiError {
  sessionStorage.setItem(updatedKey, 'true');
  // While an export runs, the browser asks first, so the old page may stay. During a rolling upgrade two releases
  // answer by turns, and the new page may fail to load its scripts from the old one: hence the pause.
  reloadOnce();
  const detail =
    'It was updated while this tab was open. RETRY loads the new console at this place.';
  return new ApiError({ status: 410, code: updatedCode, detail }, { cause });
}

function reloadOnce(): void {
  const last = Number(sessionStorage.getItem(reloadedKey) ?? 0);
  if (Date.now() - last < reloadPauseMillis) return;
  sessionStorage.setItem(reloadedKey, String(Date.now()));
  window.location.reload();
}

/** Whether this page was loaded in place of one that was older than the service. True only once. */
export function takeUpdated(): boolean {
  const isUpdated = sessionStorage.getItem(updatedKey) !== null;
  sessionStorage.removeItem(updatedKey);
  return isUpdated;
}

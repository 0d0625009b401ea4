import { Button } from '@mantine/core';
import {
  type QueryClient,
  queryOptions,
  type UseQueryResult,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useEffect } from 'react';
import { ApiError } from '../api/client.ts';
import classes from './freshness.module.css';
import { FailurePanel, isAside, useFailure } from './freshness.tsx';

/** Loads a module. The component of this name in it is what is shown. */
type Script<Name extends string, Module extends Record<Name, unknown>> = () => Promise<Module>;

type PropsOf<Part> = Part extends (props: infer Props extends object) => ReactNode ? Props : never;

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
 * loaded, the page says so, tries again by itself, and appears as soon as the script is there. Its name is unique among
 * all parts.
 */
export function lazyPage<Name extends string, Module extends Record<Name, unknown>>(
  name: Name,
  load: Script<Name, Module>,
) {
  return lazy<PropsOf<Module[Name]>>(name, partOf(name, load), (failed) => (
    <FailurePanel {...failed} />
  ));
}

/** The same for a part that lies over a page: a drawer, a panel, a dialog. */
export function lazyPart<Name extends string, Module extends Record<Name, unknown>>(
  name: Name,
  load: Script<Name, Module>,
) {
  type Props = PropsOf<Module[Name]> & { onClose: () => void };
  return lazy<Props>(name, partOf(name, load), (failed, { onClose }) => (
    <aside className={classes.failedPart}>
      <FailurePanel {...failed} />
      <Button size="compact-sm" variant="subtle" onClick={onClose}>
        Close
      </Button>
    </aside>
  ));
}

/** The same for a part that a page can do without: nothing stands in its place if it cannot be loaded. */
export function lazyPiece<Name extends string, Module extends Record<Name, unknown>>(
  name: Name,
  load: Script<Name, Module>,
) {
  return lazy<PropsOf<Module[Name]>>(name, partOf(name, load), () => null);
}

type Failed = { readonly error: Error; readonly onRetry: () => void };

function partOf<Name extends string, Module extends Record<Name, unknown>, Props>(
  name: Name,
  load: Script<Name, Module>,
) {
  return async () => (await load())[name] as ComponentType<Props>;
}

function lazy<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
  whenFailed: (failed: Failed, props: Props) => ReactNode,
) {
  const options = queryOptions({
    queryKey: [scriptKey, name],
    queryFn: async () => ({ Part: await loadScript(load) }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    meta: isAside,
  });
  function Part(props: Props): ReactNode {
    const query = useQuery(options);
    const error = useFailure(query);
    if (query.data !== undefined) return <query.data.Part {...props} />;
    return error === null ? null : whenFailed({ error, onRetry: () => retry(query) }, props);
  }
  /** Starts to load the script before the part is shown. */
  Part.preload = (client: QueryClient) => client.prefetchQuery(options);
  /** Loads the script of a part that may be opened later. Whether that fails shows when somebody opens it. */
  Part.preloadQuietly = async (client: QueryClient) => {
    if (client.getQueryData(options.queryKey) !== undefined) return;
    const Part = await load().catch(() => undefined);
    if (Part !== undefined) client.setQueryData(options.queryKey, { Part });
  };
  return Part;
}

type Lazy = { readonly preloadQuietly: (client: QueryClient) => Promise<void> };

/** Loads the scripts of `parts`, one after the other, while the page rests and waits for no answer. */
export function useIdlePreload(parts: readonly Lazy[]): void {
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

function retry(query: UseQueryResult): void {
  // A person who presses RETRY need not wait for the pause between reloads.
  if (query.error instanceof ApiError && query.error.code === updatedCode) window.location.reload();
  else void query.refetch();
}

async function loadScript<Part>(load: () => Promise<Part>): Promise<Part> {
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

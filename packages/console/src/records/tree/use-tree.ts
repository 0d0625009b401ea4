import {
  hashKey,
  type QueryClient,
  type QueryState,
  type UseQueryResult,
  useQueries,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useMemo, useRef, useState } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import { usePolling } from '../../ui/freshness.tsx';
import { calmPollMillis } from '../../ui/poll.tsx';
import type { TreeSort } from '../search.ts';
import {
  type BranchPage,
  branchGcMillis,
  branchPageKey,
  type DatasetPage,
  fetchBranchPage,
  isDue,
  type LoadedPage,
  parseTreeSearch,
} from './branch-pages.ts';
import { type Branch, type FlatTree, flatten, rowKey } from './flat-tree.ts';

/** The tree, as far as it is loaded, and how to load more of it. A branch is named by the key of its node. */
export type Tree = {
  flat: FlatTree;
  /** The queries that the freshness line reports on: that of the root, and those that failed. */
  queries: UseQueryResult[];
  loadMore: (branch: string) => void;
  /** Loads the rows of these branches that are due, and no others that could wait. */
  loadDue: (branches: ReadonlySet<string>) => void;
  retry: (branch: string) => void;
};

/** How many pages of tenants are polled: 2,000 tenants. Others are read again when the page is opened. */
const polledPages = 4;

/**
 * From so many open stores of a tenant on, its stores are read with the names of their months, and the months wait until
 * they come near the screen. Naming them takes as long as a request for a few stores.
 */
const manyStores = 8;

/** Reads the tree: pages of the root and of each open node, in parallel, and of many open stores those near the screen. */
export function useTree(open: ReadonlySet<string>, q: string, sort?: TreeSort): Tree {
  const client = useQueryClient();
  const poll = usePolling(calmPollMillis);
  const [wanted, setWanted] = useState<ReadonlyMap<string, number>>(new Map());
  const [near, setNear] = useState<ReadonlySet<string>>(new Set());
  const search = useMemo(() => parseTreeSearch(q), [q]);
  const shown = useMemo(
    () => (search.tenant === null ? open : new Set([...open, search.tenant])),
    [open, search],
  );
  const stateOf = usePageStates(client);
  const pages: LoadedPage[] = [];
  const listed = useMemo(() => ['', ...reachable(shown)], [shown]);
  const openStores = useMemo(() => countStores(listed), [listed]);
  for (const branch of listed) {
    const hasMonths = (openStores.get(tenantOf(branch)) ?? 0) >= manyStores;
    const branchQuery = branch === '' ? q : branch === search.tenant ? search.prefix : '';
    let cursor: string | null = null;
    for (let count = wanted.get(`${q}\n${branch}`) ?? 1; count > 0; count -= 1) {
      const page: BranchPage = { branch, q: branchQuery, cursor, hasMonths };
      const state = stateOf(page);
      pages.push({ ...page, state });
      cursor = state?.data?.next_cursor ?? null;
      if (cursor === null) break;
    }
  }
  const names = useMonthNames(pages);
  const observed = pagesToObserve(
    pages.filter(
      ({ branch, hasMonths }) =>
        !hasMonths || !branch.includes('/') || near.has(branch) || names.get(branch) === null,
    ),
  );
  const results = useQueries({
    queries: observed.map((page, index) => ({
      queryKey: branchPageKey(page),
      queryFn: ({ signal }: { signal: AbortSignal }) => fetchBranchPage(client, page, signal),
      gcTime: branchGcMillis,
      // Only the root is polled: what changed below it is found through the parents, see fetchBranchPage.
      ...(page.branch === '' && index < polledPages
        ? { refetchInterval: poll }
        : { staleTime: Number.POSITIVE_INFINITY }),
    })),
  });
  const branches = useBranches(pages, names, sort);
  const flat = useMemo(() => flatten({ branches, open: shown }), [branches, shown]);
  const loadMore = useCallback(
    (branch: string) => {
      setWanted((before) => {
        const key = `${q}\n${branch}`;
        return new Map(before).set(key, (before.get(key) ?? 1) + 1);
      });
    },
    [q],
  );
  const loadDue = useCallback((due: ReadonlySet<string>) => {
    // While what is near is being read already, nothing has to be drawn again.
    setNear((before) => ([...due].every((branch) => before.has(branch)) ? before : due));
  }, []);
  const retry = (branch: string) => {
    for (const [index, page] of observed.entries()) {
      if (page.branch === branch && results[index]?.isError) void results[index]?.refetch();
    }
  };
  const root = results[0];
  return {
    flat,
    queries: results.filter((result) => result === root || result.isError),
    loadMore,
    loadDue,
    retry,
  };
}

function tenantOf(branch: string): string {
  const slash = branch.indexOf('/');
  return slash < 0 ? branch : branch.slice(0, slash);
}

function countStores(branches: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const branch of branches) {
    if (!branch.includes('/')) continue;
    const tenant = tenantOf(branch);
    counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  }
  return counts;
}

/** The names of the months of a store; null where they were not asked for. */
type MonthNames = ReadonlyMap<string, readonly string[] | null>;

/** The names of the months of all stores that are loaded, where many are open; the same map until one changes. */
function useMonthNames(pages: readonly LoadedPage[]): MonthNames {
  const kept = useRef<{ loaded: DatasetPage[]; names: MonthNames }>({
    loaded: [],
    names: new Map(),
  });
  const loaded = pages.flatMap(({ branch, hasMonths, state }) =>
    hasMonths && !branch.includes('/') && state?.data !== undefined ? [state.data] : [],
  );
  const before = kept.current.loaded;
  if (loaded.length !== before.length || loaded.some((page, index) => page !== before[index])) {
    const rows = loaded.flatMap(({ data }) => data);
    kept.current = { loaded, names: new Map(rows.map((row) => [rowKey(row), row.months ?? null])) };
  }
  return kept.current.names;
}

/** The open nodes whose parents are all open, too. */
function reachable(open: ReadonlySet<string>): string[] {
  return [...open].filter((key) => {
    const slash = key.indexOf('/');
    return slash < 0 || open.has(key.slice(0, slash));
  });
}

/** Reads pages from the cache. To hash a thousand keys at every draw was a third of what opening a node cost. */
function usePageStates(client: QueryClient) {
  const hashes = useRef(new Map<string, string>());
  const cache = client.getQueryCache();
  return (page: BranchPage): QueryState<DatasetPage> | undefined => {
    const name = `${page.branch}\n${page.q}\n${page.cursor ?? ''}`;
    let hash = hashes.current.get(name);
    if (hash === undefined) {
      hash = hashKey(branchPageKey(page));
      hashes.current.set(name, hash);
    }
    return cache.get<DatasetPage>(hash)?.state;
  };
}

/** How many pages are loaded at once. A browser opens six connections: more would wait, and slow every draw. */
const maxLoading = 24;

/**
 * The pages that need an observer: those of the root, which are polled, and those that are missing, failed or
 * invalidated. The others are only read from the cache, so that a thousand open nodes cost nothing when one more is
 * opened.
 */
function pagesToObserve(pages: readonly LoadedPage[]): BranchPage[] {
  const root = pages.filter(({ branch }) => branch === '');
  const due = pages.filter((page) => page.branch !== '' && isDue(page));
  return [...root, ...due.slice(0, maxLoading)];
}

type Kept = {
  group: readonly LoadedPage[];
  names: readonly string[] | null;
  sort: TreeSort | undefined;
  branch: Branch;
};

/** Puts the pages of each branch together. A branch whose pages have not changed stays the same object. */
function useBranches(
  pages: readonly LoadedPage[],
  allNames: MonthNames,
  sort: TreeSort | undefined,
): ReadonlyMap<string, Branch> {
  const kept = useRef(new Map<string, Kept>());
  const last = useRef<ReadonlyMap<string, Branch>>(new Map());
  const next = new Map<string, Kept>();
  const branches = new Map<string, Branch>();
  let isUnchanged = true;
  for (const group of groupsOf(pages)) {
    const key = group[0]?.branch ?? '';
    const before = kept.current.get(key);
    const names = group.some(isDue) ? (allNames.get(key) ?? null) : null;
    const isKept = before?.names === names && before.sort === sort && isSame(before.group, group);
    const now = isKept ? before : { group, names, sort, branch: toBranch(group, names, sort) };
    next.set(key, now);
    branches.set(key, now.branch);
    isUnchanged &&= last.current.get(key) === now.branch;
  }
  kept.current = next;
  if (!isUnchanged || branches.size !== last.current.size) last.current = branches;
  return last.current;
}

/** Groups the pages by branch; those of one branch are neighbours in the list. */
function groupsOf(pages: readonly LoadedPage[]): LoadedPage[][] {
  const groups: LoadedPage[][] = [];
  for (const page of pages) {
    const group = groups.at(-1);
    if (group?.[0]?.branch === page.branch) group.push(page);
    else groups.push([page]);
  }
  return groups;
}

/** The rows of all pages of a branch, and what follows them. Sorted by size only when all are there: the rest may be larger. */
export function toBranch(
  group: readonly Pick<LoadedPage, 'state'>[],
  names: Branch['names'],
  sort?: TreeSort,
): Branch {
  const rows: DatasetRow[] = group.flatMap(({ state }) => state?.data?.data ?? []);
  const end = group.at(-1)?.state;
  if (end?.data === undefined) {
    // A page that failed still counts as failed while it is tried again, when the query calls itself pending.
    return { rows, names, tail: (end?.errorUpdateCount ?? 0) > 0 ? 'failed' : 'loading' };
  }
  if (end.data.next_cursor !== null) return { rows, names, tail: 'more' };
  const sorted = sort === undefined ? rows : rows.toSorted((a, b) => b[sort] - a[sort]);
  return { rows: sorted, names, tail: 'none' };
}

/** Whether two lists of pages would make the same branch. */
function isSame(a: readonly LoadedPage[], b: readonly LoadedPage[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ state }, index) => {
      const other = b[index]?.state;
      return state?.data === other?.data && state?.errorUpdateCount === other?.errorUpdateCount;
    })
  );
}

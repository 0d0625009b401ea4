import type { QueryClient, QueryState } from '@tanstack/react-query';
import { useCallback, useEffect, useReducer, useRef } from 'react';
import type { DatasetRow } from '../../api/types.ts';
import {
  type BranchPage,
  compareNames,
  type DatasetPage,
  isDue,
  keepMonths,
  type LoadedPage,
  readMonths,
} from './branch-pages.ts';

export type MonthWalk = {
  /** Reads a page of the months of all stores of a tenant, in the order of stores and months. */
  read: (cursor: string | null) => Promise<DatasetPage>;
  /** The stores whose months are wanted. It is asked again for each page, because people open and close nodes. */
  wanted: () => readonly string[];
  /** Gets all months of a store that is wanted; none when the store has no months any more. */
  keep: (store: string, months: DatasetRow[]) => void;
};

/**
 * Walks through the months of all stores of a tenant, and keeps those of the wanted ones. It ends behind the last of
 * them, or when it brings too few: where most stores are closed, a request for each open one is cheaper. At most an
 * eighth of the requests that it is to save are lost in this way. Returns the store from which on it has read nothing;
 * null when it came to its end.
 */
export async function walkMonths({ read, wanted, keep }: MonthWalk): Promise<string | null> {
  const most = wanted().length;
  let cursor: string | null = null;
  // The months of this store began on the last page and may go on; those of the stores before it are complete.
  let from = '';
  let begun: DatasetRow[] = [];
  let kept = 0;
  for (let requests = 1; requests <= 1 + kept / 2 + most / 8; requests += 1) {
    const page: DatasetPage = await read(cursor);
    const months = byStore([...begun, ...page.data]);
    const end = page.next_cursor === null ? null : (page.data.at(-1)?.store ?? from);
    let isBehind = true;
    for (const store of wanted()) {
      if (compareNames(store, from) < 0) continue;
      if (end !== null && compareNames(store, end) >= 0) isBehind = false;
      else {
        keep(store, months.get(store) ?? []);
        kept += 1;
      }
    }
    if (isBehind || end === null) return null;
    cursor = page.next_cursor;
    from = end;
    begun = months.get(end) ?? [];
  }
  return from;
}

function byStore(rows: readonly DatasetRow[]): Map<string, DatasetRow[]> {
  const months = new Map<string, DatasetRow[]>();
  for (const row of rows) {
    const store = row.store ?? '';
    const group = months.get(store);
    if (group === undefined) months.set(store, [row]);
    else group.push(row);
  }
  return months;
}

/** From so many stores of a tenant on, their months are read by a walk. */
const leastStores = 8;
/** A browser opens six connections, and clicks shall find a free one. */
const maxWalks = 3;
/** The shortest time between two draws. With a thousand open nodes, a draw takes some milliseconds. */
const drawMillis = 100;

/** The stores of a tenant whose months a walk shall read, and the pages that hold the rows of stores. */
type Wanted = { stores: string[]; parents: LoadedPage[] };

/**
 * Reads the months of many open stores of a tenant by a walk, and returns whether a page is left to one. After a reload
 * with a thousand open stores, a request and a draw for each of them took several times as long.
 *
 * What a walk leaves out or fails to read is read one by one. Those requests tell of a failure and are tried again.
 */
export function useMonthWalks(
  client: QueryClient,
  pages: readonly LoadedPage[],
  stateOf: (page: BranchPage) => QueryState<DatasetPage> | undefined,
): (page: LoadedPage) => boolean {
  const redraw = useCalmRedraw();
  const running = useRef(new Map<string, AbortController>());
  const left = useRef<ReadonlySet<string>>(new Set());
  const due = pages.filter(isWalkable).map(({ branch }) => branch);
  left.current = new Set(due.filter((branch) => left.current.has(branch)));
  const wanted = groupByTenant(
    due.filter((branch) => !left.current.has(branch)),
    pages,
  );
  for (const [tenant, { stores }] of wanted) {
    if (stores.length < leastStores && !running.current.has(tenant)) wanted.delete(tenant);
  }
  const latest = useRef(wanted);

  const walk = async (tenant: string, signal: AbortSignal) => {
    const now = () => latest.current.get(tenant);
    // A store's months may lie on two pages, so that the earlier of the two requests counts.
    let askedAt = Date.now();
    let askedBefore = askedAt;
    let unread: string | null = '';
    try {
      unread = await walkMonths({
        read(cursor) {
          [askedBefore, askedAt] = [askedAt, Date.now()];
          return readMonths(tenant, cursor, signal);
        },
        wanted: () => now()?.stores ?? [],
        keep(store, months) {
          // If the store's own row came meanwhile, it may count what these months lack, and would not change again.
          // So they stay due.
          const parentAt = now()?.parents.map((page) => stateOf(page)?.dataUpdatedAt ?? 0) ?? [];
          if (parentAt.some((at) => at > askedBefore)) return;
          keepMonths(client, `${tenant}/${store}`, months);
          redraw();
        },
      });
    } catch {
      // The requests for single stores meet the same failure, and tell it.
    }
    running.current.delete(tenant);
    const stores = now()?.stores.filter(
      (each) => unread !== null && compareNames(each, unread) >= 0,
    );
    left.current = new Set([...left.current, ...branchesOf(tenant, stores ?? [])]);
    redraw();
  };
  useEffect(() => {
    latest.current = wanted;
    for (const [tenant, { parents }] of wanted) {
      // Were the months read before the row of their store, a change in between would never be seen.
      const isReady = parents.some(({ state }) => state?.data !== undefined);
      if (!isReady || running.current.size >= maxWalks || running.current.has(tenant)) continue;
      const ending = new AbortController();
      running.current.set(tenant, ending);
      void walk(tenant, ending.signal);
    }
  });
  useEffect(() => {
    const walks = running.current;
    return () => {
      for (const ending of walks.values()) ending.abort();
    };
  }, []);
  const walked = new Set([...wanted].flatMap(([tenant, { stores }]) => branchesOf(tenant, stores)));
  return ({ branch, cursor }) => cursor === null && walked.has(branch);
}

/** Whether a walk can read a page: it holds all months of a store, as far as is known, and did not fail before. */
function isWalkable(page: LoadedPage): boolean {
  const { branch, q, cursor, state } = page;
  if (q !== '' || cursor !== null || !branch.includes('/') || !isDue(page)) return false;
  return (state?.data?.next_cursor ?? null) === null && (state?.errorUpdateCount ?? 0) === 0;
}

function groupByTenant(
  branches: readonly string[],
  pages: readonly LoadedPage[],
): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  for (const branch of branches) {
    const slash = branch.indexOf('/');
    const tenant = branch.slice(0, slash);
    const known = wanted.get(tenant) ?? { stores: [], parents: [] };
    known.stores.push(branch.slice(slash + 1));
    wanted.set(tenant, known);
  }
  for (const page of pages) wanted.get(page.branch)?.parents.push(page);
  return wanted;
}

function branchesOf(tenant: string, stores: readonly string[]): string[] {
  return stores.map((store) => `${tenant}/${store}`);
}

/** Asks for a draw, soon but not more often than each `drawMillis`. */
function useCalmRedraw(): () => void {
  const [, redraw] = useReducer((draws: number) => draws + 1, 0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const drawnAt = useRef(0);
  return useCallback(() => {
    const waitMillis = Math.max(0, drawnAt.current + drawMillis - performance.now());
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      drawnAt.current = performance.now();
      redraw();
    }, waitMillis);
  }, []);
}

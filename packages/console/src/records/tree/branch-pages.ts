import type { QueryClient, QueryState } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DatasetRow } from '../../api/types.ts';
import { rowKey, rowName } from './flat-tree.ts';

export type DatasetPage = { data: DatasetRow[]; next_cursor: string | null };

/** Identifies one page of the children of a node; the key of the root is the empty string. */
export type BranchPage = {
  branch: string;
  q: string;
  cursor: string | null;
  /** Whether stores are read with the names of their months. */
  hasMonths: boolean;
};

/** A page with what the cache has of it. */
export type LoadedPage = BranchPage & { state: QueryState<DatasetPage> | undefined };

const pageSize = 500;
/** Most requests for one page that has grown. One that grew so much more is as good as another tree. */
const maxRequests = 20;

/** Most pages have no observer (see `pagesToObserve`), but must stay in the cache all the same. */
export const branchGcMillis = Number.POSITIVE_INFINITY;

/** The beginning of the query keys of all branches of the tree. */
export const treeKey = ['records', 'tree'] as const;

export function branchPageKey({ branch, q, cursor }: Omit<BranchPage, 'hasMonths'>) {
  return [...treeKey, branch, q, cursor] as const;
}

/** Whether a page has to be read: it is missing, failed or invalidated. */
export function isDue({ state }: LoadedPage): boolean {
  return state?.data === undefined || state.isInvalidated || state.status === 'error';
}

/** Reads what was typed into the search: a prefix of tenants, or `TX/D` for stores of TX. */
export function parseTreeSearch(q: string): { tenant: string | null; prefix: string } {
  const slash = q.indexOf('/');
  if (slash < 0) return { tenant: null, prefix: q.trim() };
  return { tenant: q.slice(0, slash).trim(), prefix: q.slice(slash + 1).trim() };
}

/**
 * Reads a page, and invalidates what is open below the rows that changed. The counters and digest of a parent are sums
 * of its children's, so polling the tenants alone shows where to look deeper.
 */
export async function fetchBranchPage(
  client: QueryClient,
  page: BranchPage,
  signal: AbortSignal,
): Promise<DatasetPage> {
  const before = client.getQueryData<DatasetPage>(branchPageKey(page));
  const after = await readPage(page, before, signal);
  for (const row of changedRows(before?.data ?? [], after.data)) {
    // The open branches are read again at the next draw, the closed ones when they are opened.
    void client.invalidateQueries({ queryKey: [...treeKey, rowKey(row)], refetchType: 'none' });
  }
  return after;
}

/**
 * Reads a page so that it ends with the same row as before. The pages after it keep their cursors, and nothing is
 * missing or doubled between them when a node was added or removed.
 */
async function readPage(
  page: BranchPage,
  before: DatasetPage | undefined,
  signal: AbortSignal,
): Promise<DatasetPage> {
  const params = { ...branchParams(page), limit: pageSize };
  const first = await read(params, page.cursor, signal);
  const last = before?.data.at(-1);
  if (before === undefined || before.next_cursor === null || last === undefined) return first;
  const data = [...first.data];
  let next = first.next_cursor;
  for (let request = 1; next !== null && request < maxRequests; request += 1) {
    const end = data.at(-1);
    if (end !== undefined && compareNames(rowName(end), rowName(last)) >= 0) break;
    const more = await read(params, next, signal);
    data.push(...more.data);
    next = more.next_cursor;
  }
  if (next === null) return { data, next_cursor: null };
  const kept = data.filter((row) => compareNames(rowName(row), rowName(last)) <= 0);
  return { data: kept, next_cursor: before.next_cursor };
}

function read(params: Record<string, string | number>, cursor: string | null, signal: AbortSignal) {
  const query = cursor === null ? params : { ...params, cursor };
  return api.get<DatasetPage>('/enrichment/datasets', query, signal);
}

/** The parameters for the children of a node. The search applies to the level on which it was made. */
function branchParams({ branch, q, hasMonths }: BranchPage): Record<string, string> {
  const [tenant, store] = branch === '' ? [] : branch.split('/');
  if (tenant === undefined) {
    const search = parseTreeSearch(q);
    if (search.tenant !== null) return { level: 'tenant', tenant: search.tenant };
    return { level: 'tenant', ...(search.prefix === '' ? {} : { q: search.prefix }) };
  }
  if (store !== undefined) return { level: 'month', tenant, store };
  const include = hasMonths ? { include: 'months' } : {};
  return { level: 'store', tenant, ...(q === '' ? {} : { q }), ...include };
}

/** The rows that are new or have changed since. Nothing counts as changed at the first load. */
function changedRows(before: readonly DatasetRow[], after: readonly DatasetRow[]): DatasetRow[] {
  if (before.length === 0) return [];
  const known = new Map(before.map((row) => [rowName(row), row]));
  return after.filter((row) => {
    const old = known.get(rowName(row));
    return old === undefined || fingerprint(old) !== fingerprint(row);
  });
}

function fingerprint(row: DatasetRow): string {
  const { digest, count, bytes, covered, by_dataset, tier, stored_bytes } = row;
  const { training, fine_tuning } = by_dataset;
  return [digest, count, bytes, covered, training, fine_tuning, tier, stored_bytes].join();
}

/** Compares names by their code points, which is the order of their UTF-8 bytes, as the API has it. */
function compareNames(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

type Totals = {
  count: number;
  bytes: number;
  /** Bytes of hot records, plus the size of the objects that hold cold ones. */
  storedBytes: number;
  isAllHot: boolean;
  covered: number;
  by_dataset: { training: number; fine_tuning: number };
  /** The share of covered records; null without records. */
  coverage: number | null;
};

/** The sums of rows of one level. */
export function totalsOf(rows: readonly DatasetRow[]): Totals {
  let [count, bytes, storedBytes, covered, training, fineTuning] = [0, 0, 0, 0, 0, 0];
  for (const row of rows) {
    count += row.count;
    bytes += row.bytes;
    storedBytes += row.stored_bytes;
    covered += row.covered;
    training += row.by_dataset.training;
    fineTuning += row.by_dataset.fine_tuning;
  }
  return {
    count,
    bytes,
    storedBytes,
    isAllHot: rows.every(({ tier }) => tier === 'hot'),
    covered,
    by_dataset: { training, fine_tuning: fineTuning },
    coverage: count === 0 ? null : covered / count,
  };
}

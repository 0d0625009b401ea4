import type { UseQueryResult } from '@tanstack/react-query';
import { api, readPages } from '../api/client.ts';
import type {
  Page,
  Plan,
  RetentionMove,
  RetentionPolicy,
  TenantState,
  Verification,
} from '../api/types.ts';
import { type RetentionJobState, statesBeforeSwitch } from '../api/values.ts';
import { moveFilters } from '../api/views.ts';
import { listParams } from '../ui/list-search.ts';
import { useRead } from '../ui/poll.tsx';
import type { RetentionSearch } from './search.ts';
import { isCalledOff } from './words.ts';

/** The beginning of the query keys of everything about retention. */
export const retentionKey = ['retention'] as const;

const pageSize = 100;
const movesPath = '/retention/moves';

/** The path of the policy of a tenant; `*` is the default policy. */
export function policyPath(tenant: string): string {
  return `/retention/policies/${encodeURIComponent(tenant)}`;
}

/** Reads a page of tenants, first those of which most is due, unless the journal is shown instead. */
export function useTenants(search: RetentionSearch): UseQueryResult<Page<TenantState>> {
  const { view, q, cursor } = search;
  const params = { q, cursor, order: 'due', limit: pageSize };
  const isWanted = view !== 'journal';
  return useRead([...retentionKey, 'tenants', params], '/retention/tenants', { params, isWanted });
}

/** Reads one tenant; null when nothing of it is stored. */
export function useTenant(tenant: string): UseQueryResult<TenantState | null> {
  // Tenants are listed in the order of their names, so the tenant with exactly this name is the first of those that
  // begin with it.
  const read = async (signal: AbortSignal) => {
    const params = { q: tenant, limit: 1 };
    const page = await api.get<Page<TenantState>>('/retention/tenants', params, signal);
    return page.data.find((row) => row.tenant === tenant) ?? null;
  };
  return useRead([...retentionKey, 'tenant', tenant], read, { isOne: true });
}

/** Reads the policy of a tenant; `*` is the default policy. */
export function usePolicy(tenant: string): UseQueryResult<RetentionPolicy> {
  return useRead([...retentionKey, 'policy', tenant], policyPath(tenant), { isOne: true });
}

type PlanScope = {
  readonly tenant?: string | undefined;
  /** Plans only days before this one; undefined plans all days that are due. */
  readonly before?: string | undefined;
};

/** Reads what a run would do now. It is read anew each time it is shown. */
export function usePlan(scope: PlanScope, rows = pageSize): UseQueryResult<Plan> {
  const params = { ...scope, limit: rows };
  return useRead([...retentionKey, 'plan', params], '/retention/plan', { params, staleMillis: 0 });
}

/** Reads a page of the journal, when it is shown. */
export function useMoves(search: RetentionSearch): UseQueryResult<Page<RetentionMove>> {
  const params = listParams(moveFilters, search);
  const isWanted = search.view === 'journal';
  return useRead([...retentionKey, 'moves', params], movesPath, { params, isWanted });
}

/** Reads the latest moves of one tenant. */
export function useLastMoves(tenant: string): UseQueryResult<Page<RetentionMove>> {
  const params = { tenant, limit: 6 };
  return useRead([...retentionKey, 'moves', params], movesPath, { params, isOne: true });
}

/** How often a move, a run or a verification is read while it is under way. */
export const followMillis = 1_000;

/** Reads one move, and often until it has switched or failed. */
export function useMove(id: string): UseQueryResult<RetentionMove> {
  return useRead([...retentionKey, 'move', id], `${movesPath}/${encodeURIComponent(id)}`, {
    isOne: true,
    follow: [isUnderWay, followMillis],
  });
}

/** Reads one verification. The page reads a running one with the same key, so that both share one request. */
export function useVerification(id: string): UseQueryResult<Verification> {
  const path = `/retention/verify/${encodeURIComponent(id)}`;
  return useRead<Verification>([...retentionKey, 'verifications', id], path, {
    isOne: true,
    follow: [isAtWork, followMillis],
  });
}

/** Whether a run or a verification has not ended. */
export function isAtWork({ state }: { readonly state: RetentionJobState }): boolean {
  return state === 'queued' || state === 'running' || state === 'waiting';
}

function isUnderWay({ state }: RetentionMove): boolean {
  return statesBeforeSwitch.includes(state);
}

/** At most this many failures are read, more than anyone reads; the journal has all of them. */
const mostFailed = 50;
const mostAsked = 6;

/** Reads the failed moves that no later move has made good, latest first. */
export function useFailures(): UseQueryResult<RetentionMove[]> {
  return useRead([...retentionKey, 'failures'], async (signal) => {
    const list = (params: Record<string, string | number>) =>
      api.get<Page<RetentionMove>>(movesPath, params, signal);
    const all = await list({ state: 'failed', limit: mostFailed });
    const failed = all.data.filter((move) => !isCalledOff(move));
    const pairs = new Map(failed.map((move) => [`${move.kind} ${move.tenant}`, move]));
    const asked = [...pairs.values()].slice(0, mostAsked);
    const answers = await Promise.all(
      asked.map(({ tenant, kind }) => list({ tenant, kind, limit: pageSize })),
    );
    return unsettled(
      failed,
      answers.flatMap(({ data }) => data),
    );
  });
}

/** Sums of all tenants: records and bytes in both tiers, and what the objects of cold ones take (`storedBytes`). */
export type Sums = {
  readonly hotCount: number;
  readonly hotBytes: number;
  readonly coldCount: number;
  readonly coldBytes: number;
  readonly storedBytes: number;
  readonly segments: number;
  readonly tenants: number;
  /** True when there are more tenants than were added up. */
  readonly isPart: boolean;
};

/** Adds up all tenants. */
export function useSums(): UseQueryResult<Sums> {
  return useRead([...retentionKey, 'sums'], async (signal) => {
    const { rows, isPart } = await readPages<TenantState>('/retention/tenants', {}, signal);
    return sumOf(rows, isPart);
  });
}

function sumOf(rows: readonly TenantState[], isPart: boolean): Sums {
  const sum = (pick: (row: TenantState) => number) =>
    rows.reduce((total, row) => total + pick(row), 0);
  return {
    hotCount: sum((row) => row.hot_count),
    hotBytes: sum((row) => row.hot_bytes),
    coldCount: sum((row) => row.cold_count),
    coldBytes: sum((row) => row.cold_bytes),
    storedBytes: sum((row) => row.cold_stored_bytes),
    segments: sum((row) => row.segments),
    tenants: rows.length,
    isPart,
  };
}

type Key = Pick<RetentionMove, 'tenant' | 'kind' | 'first_day' | 'last_day' | 'planned_at'>;

/**
 * The failed moves that no later move has made good. A later move makes one good if it has switched, and is of the same
 * tenant and kind and over some of the same days. Of several failures over the same days only the latest is returned.
 */
export function unsettled<M extends Key & Pick<RetentionMove, 'id' | 'state'>>(
  failed: readonly M[],
  later: readonly M[],
): M[] {
  const done = later.filter(({ state }) => state === 'switched' || state === 'removed');
  const open = failed.filter((move) => !done.some((each) => isAfter(each, move)));
  return open.filter((move) => !open.some((each) => isAfter(each, move)));
}

/** Whether a move came after another one, with the same tenant and kind, and over some of the same days. */
function isAfter(later: Key, earlier: Key): boolean {
  return (
    later.tenant === earlier.tenant &&
    later.kind === earlier.kind &&
    later.planned_at > earlier.planned_at &&
    later.first_day <= earlier.last_day &&
    later.last_day >= earlier.first_day
  );
}

import type { RetentionMove } from '../api/types.ts';

type Key = Pick<RetentionMove, 'tenant' | 'kind' | 'first_day' | 'last_day' | 'planned_at'>;

/**
 * Failed moves that no later one has made good: of the same tenant and kind, switched, over some of the
 * same days. Of several over the same days only the latest is told.
 */
export function unsettled<M extends Key & Pick<RetentionMove, 'id' | 'state'>>(
  failed: readonly M[],
  later: readonly M[],
): M[] {
  const done = later.filter(({ state }) => state === 'switched' || state === 'removed');
  const open = failed.filter((move) => !done.some((each) => isAfter(each, move)));
  return open.filter((move) => !open.some((each) => isAfter(each, move)));
}

function isAfter(later: Key, earlier: Key): boolean {
  return (
    later.tenant === earlier.tenant &&
    later.kind === earlier.kind &&
    later.planned_at > earlier.planned_at &&
    later.first_day <= earlier.last_day &&
    later.last_day >= earlier.first_day
  );
}

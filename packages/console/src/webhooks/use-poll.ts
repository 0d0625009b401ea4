import { usePolling } from '../ui/freshness.tsx';

/** How often the pages of webhooks are read again while all is well. */
export const pollMs = 15_000;

/** As `refetchInterval` of a query of any kind: the frame's type names only one. */
export function usePollOf(millis: number): (query: unknown) => number {
  return usePolling(millis) as unknown as (query: unknown) => number;
}

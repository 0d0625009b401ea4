import { usePolling } from '../ui/freshness.tsx';

/** How often the open parts of the page are read again while all is well. */
const pollMillis = 30_000;

/** The page's poll as `refetchInterval` of a query of any kind: the frame's type names only one. */
export function usePoll(): (query: unknown) => number {
  return usePolling(pollMillis) as unknown as (query: unknown) => number;
}

/** For `placeholderData`: what another key holds is not this. The frame would keep it. */
export function noPlaceholder(): undefined {
  return undefined;
}

import type { Endpoint, Page } from '../api/types.ts';
import { shownTarget } from '../ui/endpoint.tsx';
import { useRead } from '../ui/poll.tsx';
import { shortId } from '../ui/words.ts';
import { endpointsKey } from './query-keys.ts';

/** At most this many endpoints are in the list, more than anyone picks from. A link may still name any other. */
const mostEndpoints = 500;

/** What the endpoints of a tenant, or of all, are called, by their ids. */
export function useEndpointNames(
  tenant?: string,
  isWanted = true,
): Readonly<Record<string, string>> {
  const key = [...endpointsKey, 'names', tenant];
  const endpoints = useRead<Page<Endpoint>>(key, '/webhook/endpoints', {
    params: { tenant, limit: mostEndpoints },
    isWanted,
    everyMillis: null,
    staleMillis: 60_000,
  });
  const names = (endpoints.data?.data ?? []).map((endpoint) => [
    endpoint.id,
    `${endpoint.tenant} · ${shownTarget(endpoint)}`,
  ]);
  return Object.fromEntries(names);
}

/** What the endpoint of a bulk job is called, with its tenant; the end of its id while that is not known. */
export function useEndpointName(): (id: string) => string {
  const names = useEndpointNames();
  return (id) => names[id] ?? `endpoint ${shortId(id)}`;
}

import { type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api, isStepUp } from '../../api/client.ts';
import type { Delivery, Incident, IncidentDetail, IncidentReceipt, Page } from '../../api/types.ts';
import { daysParams } from '../../ui/days.ts';
import { usePolling } from '../../ui/freshness.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { noPlaceholder, pollMillis, useFollowing } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { isRetriable } from '../delivery-columns.tsx';
import { deliveriesKey, incidentsKey, webhooksKey } from '../query-keys.ts';
import type { IncidentsSearch } from '../search.ts';
import type { Retries } from '../use-delivery.ts';

const pageSize = 100;
const followMillis = 2_000;

/** Reads the page of incidents that the hash names. */
export function useIncidents(search: IncidentsSearch): UseQueryResult<Page<Incident>> {
  const { type, tenant, store, from, to, deliveries, cursor } = search;
  const params = { type, tenant, store, ...daysParams({ from, to }), deliveries, cursor };
  return useQuery<Page<Incident>>({
    queryKey: [...incidentsKey, params],
    refetchInterval: usePolling(pollMillis),
    queryFn: ({ signal }) =>
      api.get<Page<Incident>>(
        '/incidents',
        { ...params, include: 'delivery_counts', limit: pageSize },
        signal,
      ),
  });
}

/** Reads the incident in the panel, and often while one of its deliveries is due. */
export function useIncident(id: string | undefined): UseQueryResult<IncidentDetail> {
  return useQuery<IncidentDetail>({
    queryKey: [...incidentsKey, 'one', id ?? null],
    enabled: id !== undefined,
    placeholderData: noPlaceholder,
    refetchInterval: useFollowing(({ deliveries }) => isMoving(deliveries), followMillis),
    queryFn: ({ signal }) =>
      api.get<IncidentDetail>(`/incidents/${encodeURIComponent(id ?? '')}`, undefined, signal),
  });
}

function isMoving(deliveries: readonly Pick<Delivery, 'status'>[]): boolean {
  return deliveries.some(({ status }) => status === 'queued');
}

/** What the list of deliveries is asked for, and its key. */
function ofIncident(id: string) {
  const filters = { incident_id: id, limit: pageSize };
  return {
    queryKey: [...deliveriesKey, filters],
    queryFn: ({ signal }: { signal?: AbortSignal }) =>
      api.get<Page<Delivery>>('/webhook/deliveries', filters, signal),
  };
}

/** Reads the deliveries of an incident: where they go, and what came of them. Only admins may. */
export function useDeliveriesOf(id: string | undefined): UseQueryResult<Page<Delivery>> {
  return useQuery<Page<Delivery>>({
    ...ofIncident(id ?? ''),
    enabled: id !== undefined,
    placeholderData: noPlaceholder,
    refetchInterval: useFollowing(({ data }) => isMoving(data), followMillis),
  });
}

/** Retries all deliveries of an incident that failed. */
export function useRetryOf({ retry }: Retries): (incident: string) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (incident) => {
      try {
        const { data } = await client.fetchQuery({ ...ofIncident(incident), staleTime: 0 });
        const ids = data.filter(isRetriable).map(({ id }) => id);
        if (ids.length > 0) await retry(ids);
        else notify({ text: 'No delivery of this incident can be retried now.' });
      } catch (error) {
        notify({ text: `Not retried. ${reasonOf(error as Error)}` });
      }
    },
    [client, retry],
  );
}

/** Erases what an incident tells, and reads everything again that shows it. */
export function useEraseIncident(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      api.post<IncidentReceipt>(`/incidents/${encodeURIComponent(id)}/erase`, undefined),
    onSuccess: () => notify({ text: `Erased what ${id} told` }),
    onError: (error) => {
      if (!isStepUp(error)) notify({ text: `Not erased: ${id}. ${reasonOf(error)}` });
    },
    onSettled: () => client.invalidateQueries({ queryKey: webhooksKey }),
  });
}

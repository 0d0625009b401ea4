import { type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api } from '../../api/client.ts';
import type { Delivery, Incident, IncidentDetail, IncidentReceipt, Page } from '../../api/types.ts';
import { incidentFilters } from '../../api/views.ts';
import { useAct } from '../../ui/act.ts';
import { listParams } from '../../ui/list-search.ts';
import { reasonOf } from '../../ui/outage.ts';
import { useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { isRetriable } from '../delivery-columns.tsx';
import { deliveriesKey, incidentsKey, webhooksKey } from '../query-keys.ts';
import type { IncidentsSearch } from '../search.ts';
import type { Retries } from '../use-delivery.ts';
import { type Found, useFound } from '../use-found.ts';

const pageSize = 100;
const followMillis = 2_000;

/** Reads the page of incidents that the hash names. */
export function useIncidents(search: IncidentsSearch): Found<Incident> {
  const { store, status, endpoint, type, class: failure, code, id, text } = search;
  const params = { ...listParams(incidentFilters, search), include: 'delivery_counts' };
  const sought = [store, status, endpoint, type, failure, code, id, text];
  return useFound([...incidentsKey, params], '/incidents', params, sought);
}

/** Reads the incident in the panel, and often while one of its deliveries is due. */
export function useIncident(id: string): UseQueryResult<IncidentDetail> {
  const path = `/incidents/${encodeURIComponent(id)}`;
  return useRead<IncidentDetail>([...incidentsKey, 'one', id], path, {
    isOne: true,
    follow: [({ deliveries }) => isMoving(deliveries), followMillis],
  });
}

function isMoving(deliveries: readonly Pick<Delivery, 'status'>[]): boolean {
  return deliveries.some(({ status }) => status === 'queued');
}

/** The key of the list of deliveries, and how it is read. */
function ofIncident(id: string) {
  const params = { incident_id: id, limit: pageSize };
  return {
    queryKey: [...deliveriesKey, params],
    read: (signal: AbortSignal) => api.get<Page<Delivery>>('/webhook/deliveries', params, signal),
  };
}

/** Reads the deliveries of an incident: where they go, and what came of them. */
export function useDeliveriesOf(id: string, isWanted: boolean): UseQueryResult<Page<Delivery>> {
  const { queryKey, read } = ofIncident(id);
  return useRead(queryKey, read, {
    isWanted,
    isOne: true,
    follow: [({ data }) => isMoving(data), followMillis],
  });
}

/** Retries all deliveries of an incident that failed. */
export function useRetryOf({ retry }: Retries): (incident: string) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (incident) => {
      try {
        const { queryKey, read } = ofIncident(incident);
        const queryFn = ({ signal }: { signal: AbortSignal }) => read(signal);
        const { data } = await client.fetchQuery({ queryKey, queryFn, staleTime: 0 });
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
  return useAct({
    call: () => api.post<IncidentReceipt>(`/incidents/${encodeURIComponent(id)}/erase`, undefined),
    onDone: () => notify({ text: `Erased what ${id} told` }),
    failed: `Not erased: ${id}`,
    changes: webhooksKey,
  });
}

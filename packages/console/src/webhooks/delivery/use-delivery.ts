import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { Delivery, DeliveryDetail } from '../../api/types.ts';
import { pollMillis, usePollOf } from '../../ui/poll.tsx';

const followMillis = 2_000;

/** The delivery in the drawer: followed closely while it is due or an attempt is under way. */
export function useDelivery(id: string | undefined): UseQueryResult<DeliveryDetail> {
  const closely = usePollOf(followMillis);
  const calmly = usePollOf(pollMillis);
  return useQuery<DeliveryDetail>({
    queryKey: deliveryKey(id),
    enabled: id !== undefined,
    // What another delivery was is not this one.
    placeholderData: () => undefined,
    refetchInterval: (query) => (isMoving(query.state.data) ? closely(query) : calmly(query)),
    queryFn: ({ signal }) => api.get<DeliveryDetail>(deliveryPath(id ?? ''), {}, signal),
  });
}

function isMoving(delivery: DeliveryDetail | undefined): boolean {
  return delivery?.status === 'queued' || delivery?.waiting?.reason === 'in_flight';
}

/** What is kept of the dead-letter queue, of deliveries, of endpoints: all begin with this key. */
export const webhooksKey = ['webhooks'] as const;
export const dlqKey = [...webhooksKey, 'dlq'] as const;
export const deliveriesKey = [...webhooksKey, 'deliveries'] as const;
export const endpointsKey = [...webhooksKey, 'endpoints'] as const;
export const jobsKey = [...webhooksKey, 'jobs'] as const;

/** Keys of one delivery: of none without an id. */
export function deliveryKey(id: string | undefined) {
  return [...webhooksKey, 'delivery', id ?? null] as const;
}

export function deliveryPath(id: string): string {
  return `/webhook/dlq/${encodeURIComponent(id)}`;
}

/** Re-arms one; it has no step-up and no body. */
export function retryDelivery(id: string): Promise<Delivery> {
  return api.post<Delivery>(`${deliveryPath(id)}/retry`, undefined);
}

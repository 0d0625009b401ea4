import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DeliveryDetail } from '../../api/types.ts';
import { pollMs, usePollOf } from '../use-poll.ts';
import { deliveryKey, deliveryPath } from './calls.ts';

const followMs = 2_000;

/** The delivery in the drawer: followed closely while it is due or an attempt is under way. */
export function useDelivery(id: string | undefined): UseQueryResult<DeliveryDetail> {
  const closely = usePollOf(followMs);
  const calmly = usePollOf(pollMs);
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

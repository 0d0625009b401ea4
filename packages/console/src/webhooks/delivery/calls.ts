import { api } from '../../api/client.ts';
import type { Delivery } from '../../api/types.ts';

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

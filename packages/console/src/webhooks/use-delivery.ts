import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { api } from '../api/client.ts';
import type { DeadLetters, Delivery, DeliveryDetail } from '../api/types.ts';
import { reasonOf } from '../ui/outage.ts';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { notify } from '../ui/toasts.tsx';
import { countOf, shortId } from '../ui/words.ts';
import { deliveriesKey, dlqKey, incidentsKey, webhooksKey } from './query-keys.ts';
import { deliveryHref } from './search.ts';

const followMillis = 2_000;

/** Reads the delivery in the drawer, and often while it is due or an attempt is under way. */
export function useDelivery(id: string): UseQueryResult<DeliveryDetail> {
  return useRead(deliveryKey(id), deliveryPath(id), {
    isOne: true,
    follow: [isMoving, followMillis],
  });
}

function isMoving({ status, waiting }: DeliveryDetail): boolean {
  return status === 'queued' || waiting?.reason === 'in_flight';
}

/** The query key of one delivery. */
function deliveryKey(id: string) {
  return [...webhooksKey, 'delivery', id] as const;
}

/** The path of one delivery in the API. */
export function deliveryPath(id: string): string {
  return `/webhook/dlq/${encodeURIComponent(id)}`;
}

/** Makes one delivery due again. The call has no body and needs no confirmation. */
function retryDelivery(id: string): Promise<Delivery> {
  return api.post<Delivery>(`${deliveryPath(id)}/retry`, undefined);
}

/** How many calls run at once when many rows are retried. */
const atOnce = 6;

/** Retries of single deliveries, shared by the list and the drawer. */
export type Retries = {
  /** Whether the person may retry, skip and replay. */
  readonly isAllowed: boolean;
  /** Ids of deliveries whose retry is under way: the dead-letter queue does not show them. */
  readonly leaving: ReadonlySet<string>;
  readonly retry: (ids: readonly string[]) => Promise<void>;
};

/** Retries single rows. They leave the list at once; those that are refused come back, with a message that says why. */
export function useRetries(): Retries {
  const client = useQueryClient();
  const [leaving, setLeaving] = useState<ReadonlySet<string>>(new Set());
  const current = useRef(leaving);
  current.current = leaving;
  const retry = useCallback(
    async (ids: readonly string[]) => {
      const fresh = ids.filter((id) => !current.current.has(id));
      if (fresh.length === 0) return;
      setLeaving((before) => new Set([...before, ...fresh]));
      const { deliveries, failures } = await sendAll(fresh);
      const queued = deliveries.map(({ id }) => id);
      await forget(client, queued);
      setLeaving((before) => new Set([...before].filter((id) => !fresh.includes(id))));
      tell(deliveries, failures);
      readAgain(client, queued);
      if (queued.length > 0) setTimeout(() => readAgain(client, queued), outcomeMillis);
    },
    [client],
  );
  return { isAllowed: useSession().hasScope('deliveries:retry'), leaving, retry };
}

/** When most attempts have ended: what came of a retry is shown then, instead of at the next poll. */
const outcomeMillis = 2_000;

function readAgain(client: QueryClient, ids: readonly string[]): void {
  for (const queryKey of [dlqKey, deliveriesKey, incidentsKey, ...ids.map(deliveryKey)]) {
    void client.invalidateQueries({ queryKey });
  }
}

/** Retries all of them, a few at a time; answers those that are queued, and those that were refused, with the reasons. */
async function sendAll(ids: readonly string[]) {
  const deliveries: Delivery[] = [];
  const failures = new Map<string, Error>();
  const queue = ids.values();
  const work = async () => {
    for (const id of queue) {
      await retryDelivery(id).then(
        (delivery) => deliveries.push(delivery),
        (error: Error) => failures.set(id, error),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, ids.length) }, work));
  return { deliveries, failures };
}

/** Removes rows from the cached lists, and cancels requests under way, whose answers might still have them. */
async function forget(client: QueryClient, ids: readonly string[]): Promise<void> {
  await client.cancelQueries({ queryKey: dlqKey });
  client.setQueriesData<DeadLetters>({ queryKey: [...dlqKey, 'rows'] }, (list) => {
    if (list === undefined) return undefined;
    const data = list.data.filter(({ id }) => !ids.includes(id));
    const gone = list.data.length - data.length;
    return gone === 0 ? list : { ...list, data, total: list.total && list.total - gone };
  });
}

/** Shows how many retries were queued, and which were refused. */
function tell(queued: readonly Delivery[], failures: ReadonlyMap<string, Error>): void {
  const [only] = queued;
  if (only !== undefined && queued.length === 1) {
    const href = deliveryHref(only.id, only.endpoint_id);
    notify({ text: `Retry queued for ${shortId(only.id)}`, href, linkText: 'follow it' });
  } else if (queued.length > 1) {
    const text = `Retry queued for ${countOf(queued.length, 'delivery', 'deliveries')}`;
    notify({ text, href: '#/deliveries', linkText: 'follow them' });
  }
  const [failed] = failures;
  if (failed === undefined) return;
  const [id, error] = failed;
  const who = failures.size === 1 ? shortId(id) : countOf(failures.size, 'delivery', 'deliveries');
  notify({ text: `Not retried: ${who}. ${reasonOf(error)}` });
}

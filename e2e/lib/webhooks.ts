import { expect } from 'vitest';
import {
  answer,
  type Behaviour,
  type ReceivedRequest,
} from '../../packages/server/test/receiver.ts';
import type { Service } from './installation.ts';
import { query } from './postgres.ts';
import { waitFor } from './wait-for.ts';

/** Settings that allow receivers on this machine, and give short leases: they outlast an attempt by 15 seconds. */
export const webhookSettings = {
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_WEBHOOK_TIMEOUT_SECONDS: '1',
  SVC_RATE_LIMIT: '0',
  SVC_LOG_LEVEL: 'warn',
};

/** A delivery, as the answer to a report shows it. */
export type Accepted = { id: string; endpoint_id: string; idempotency_key: string; status: string };

/** Registers an endpoint of TX; answers its id. */
export async function addEndpoint(
  service: Service,
  url: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const answered = await service.call('POST', '/webhook/endpoints', {
    body: { tenant: 'TX', url, retry_schedule: [1], ...more },
  });
  expect(answered.status, answered.text).toBe(201);
  return answered.json.id;
}

/** Reports so many incidents; answers their deliveries. */
export async function report(
  service: Service,
  count = 1,
  more: Record<string, unknown> = {},
): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  for (let n = 0; n < count; n += 1) {
    const body = { tenant: 'TX', type: 'incident.created', data: { n }, ...more };
    const answered = await service.call('POST', '/incidents', { body });
    expect(answered.status, answered.text).toBe(202);
    accepted.push(...answered.json.deliveries);
  }
  return accepted;
}

/** Waits until a delivery has this status; answers it as the API shows it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function untilDelivery(service: Service, id: string, status: string): Promise<any> {
  let last = '';
  try {
    return await waitFor(`${id} to be ${status}`, async () => {
      const answered = await service.call('GET', `/webhook/dlq/${id}`);
      last = answered.text;
      return answered.json?.status === status && answered.json;
    });
  } catch (cause) {
    throw new Error(`${id} did not become ${status}; it is ${last}`, { cause });
  }
}

/** How many deliveries there are in each status. */
export async function countByStatus(url: string): Promise<Record<string, number>> {
  const rows = await query<{ status: string; count: number }>(
    url,
    'select status, count(*)::int as count from deliveries group by status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** The idempotency keys of all deliveries that are leased: some drainer is attempting them. */
export async function leasedKeys(url: string): Promise<string[]> {
  const rows = await query<{ idempotency_key: string }>(
    url,
    'select idempotency_key from deliveries where lease is not null',
  );
  return rows.map((row) => row.idempotency_key);
}

/** The attempts on record, by webhook-id. */
export async function countAttempts(url: string): Promise<Map<string, number>> {
  const rows = await query<{ key: string; count: number }>(
    url,
    `select d.idempotency_key as key, count(a.number)::int as count
     from deliveries d
     left join delivery_attempts a on a.lane = d.lane and a.delivery_id = d.id
     group by d.idempotency_key`,
  );
  return new Map(rows.map(({ key, count }) => [key, count]));
}

/** Counts how often each webhook-id was received; fails when one came with two different bodies. */
export function countRequests(requests: readonly ReceivedRequest[]): Map<string, number> {
  const bodies = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const { id, body } of requests) {
    expect(body).toBe(bodies.get(id) ?? body);
    bodies.set(id, body);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Fails unless each counter of the dead-letter queue is the number of its rows. */
export async function expectDeadLetterCountsTrue(url: string): Promise<void> {
  const wrong = await query(
    url,
    `with rows as (
       select endpoint_id, status, failure_class, count(*) as count from deliveries
       where status in ('pending', 'abandoned') group by endpoint_id, status, failure_class
     )
     select * from rows full join (select * from dead_letter_counts where count <> 0) as counted
       using (endpoint_id, status, failure_class)
     where rows.count is distinct from counted.count`,
  );
  expect(wrong).toEqual([]);
}

/** Fails unless the counts of hours are those of the deliveries and of their attempts, for each endpoint and in all. */
export async function expectHoursTrue(url: string): Promise<void> {
  const wrong = await query(
    url,
    `with made as (
       select d.endpoint_id, count(distinct d.id) filter (where d.status = 'delivered') as delivered,
         count(a.number) as attempts
       from deliveries d join delivery_attempts a on a.lane = d.lane and a.delivery_id = d.id
       group by d.endpoint_id
     ), counted as (
       select endpoint_id, sum(delivered)::bigint as delivered,
         sum(delivered + failed + abandoned)::bigint as attempts
       from endpoint_hours group by endpoint_id
     )
     select * from made full join counted using (endpoint_id)
     where (made.delivered, made.attempts) is distinct from (counted.delivered, counted.attempts)
     union all
     select 'in all', 0, 0, null, null from endpoint_hours
     having (select sum(delivered + failed + abandoned) from delivery_hours)
       is distinct from sum(delivered + failed + abandoned)`,
  );
  expect(wrong).toEqual([]);
}

/** A receiver that answers nothing until the gate is opened, and 204 to everything from then on. */
export function createGate(): { behaviour: Behaviour; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    async behaviour(exchange) {
      await opened;
      await answer(204)(exchange);
    },
    open: () => open(),
  };
}

import type { Actor } from '../kernel/actor.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { type DeliveryHours, webhooksContract } from './contract.ts';
import { findFirstHour, type HourCounts, listHours, listHoursOf } from './queries.ts';
import { findReach } from './reach.ts';

/** So many hours stand beside an endpoint in a list. */
const hoursInLists = 24;

export function addHourRoutes(http: HttpServer, db: Database): void {
  http.route(webhooksContract.getDeliveryHours, ({ query, actor }) =>
    getDeliveryHours(db, actor, query),
  );
}

/** What became of attempts in each of the last hours, within the caller's reach. */
export async function getDeliveryHours(
  db: Queryable,
  actor: Pick<Actor, 'tenants'>,
  { hours = hoursInLists, ...filter }: { hours?: number; tenant?: string; endpoint_id?: string },
): Promise<DeliveryHours> {
  const from = await findFirstHour(db, hours);
  const reach = await findReach(db, actor, filter);
  if (reach === null) return toSeries(from, hours, []);
  const id = reach.endpointId;
  const counts =
    id === undefined ? await listHours(db, reach.tenants, from) : await listHoursOf(db, [id], from);
  return toSeries(from, hours, counts);
}

export async function withHours<Row>(
  db: Queryable,
  rows: readonly Row[],
  endpointOf: (row: Row) => string,
): Promise<(Row & { hours: DeliveryHours })[]> {
  const from = await findFirstHour(db, hoursInLists);
  const ids = [...new Set(rows.map(endpointOf))];
  const counts = new Map<string, HourCounts[]>(ids.map((id) => [id, []]));
  for (const { endpoint_id, ...hour } of await listHoursOf(db, ids, from)) {
    counts.get(endpoint_id)?.push(hour);
  }
  return rows.map((row) => ({
    ...row,
    hours: toSeries(from, hoursInLists, counts.get(endpointOf(row)) ?? []),
  }));
}

/** One number for each hour, also for those in which nothing happened. */
function toSeries(from: string, hours: number, counts: readonly HourCounts[]): DeliveryHours {
  const series = (name: 'delivered' | 'failed' | 'abandoned') => {
    const numbers = Array.from({ length: hours }, () => 0);
    // An hour that began since `from` was asked for is left out.
    for (const hour of counts) if (hour.at < hours) numbers[hour.at] = hour[name];
    return numbers;
  };
  return {
    from,
    delivered: series('delivered'),
    failed: series('failed'),
    abandoned: series('abandoned'),
  };
}

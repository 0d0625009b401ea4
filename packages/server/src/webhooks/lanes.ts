import { createHash } from 'node:crypto';

/**
 * Deliveries are spread over this many lanes, and one drainer works on a lane at a time. The number is part of stored
 * rows and of the ids of deliveries, so it cannot change without a migration.
 */
export const laneCount = 64;
export const allLanes: readonly number[] = Array.from({ length: laneCount }, (_, lane) => lane);

/** The lane (0 … 63) of an endpoint and of all its deliveries: it follows from the hash of the endpoint's id. */
export function laneOf(endpointId: string): number {
  return createHash('md5').update(endpointId).digest().readUInt8(0) % laneCount;
}

/** Endpoints, each with the lane in which its rows lie. */
export function placed(endpointIds: readonly string[]): { id: string; lane: number }[] {
  return endpointIds.map((id) => ({ id, lane: laneOf(id) }));
}

/**
 * The lane in a delivery's id; null when the text is not the id of a delivery. That is `dlv_`, two digits of the lane, 7
 * characters of time, 11 random ones, such as `dlv_07` and 18 more. The ids of a lane ascend with time, to the second,
 * so new rows go to the end of the lane's index.
 */
export function laneOfDelivery(id: string): number | null {
  const [, digits] = /^dlv_(\d\d)[0-9A-Za-z]{18}$/.exec(id) ?? [];
  const lane = Number(digits ?? laneCount);
  return lane < laneCount ? lane : null;
}

/**
 * The part of a delivery's id that tells the time: the seconds since 1970 in seven base-36 digits. Until the year 4453 the
 * order of these bytes is the order of time.
 */
export function timeText(nowMillis: number): string {
  return Math.floor(nowMillis / 1000)
    .toString(36)
    .padStart(7, '0');
}

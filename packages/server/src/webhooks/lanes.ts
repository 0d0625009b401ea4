import { createHash } from 'node:crypto';

/** How many lanes there are; one drainer works on one at a time. Rows and ids have it, so it never changes. */
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
 * The lane in a delivery's id; null when it is none. That is `dlv_`, two digits of the lane, 7 characters of time, 11
 * random ones: ids of a lane ascend with time, so new rows go to the end of its index.
 */
export function laneOfDelivery(id: string): number | null {
  const [, digits] = /^dlv_(\d\d)[0-9A-Za-z]{18}$/.exec(id) ?? [];
  const lane = Number(digits ?? laneCount);
  return lane < laneCount ? lane : null;
}

/** The part of a delivery's id that tells the time: seconds since 1970, in seven base-36 digits until 4453. */
export function timeText(nowMillis: number): string {
  return Math.floor(nowMillis / 1000)
    .toString(36)
    .padStart(7, '0');
}

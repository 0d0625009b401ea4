import { createHash } from 'node:crypto';
import { randomText } from '../kernel/ids.ts';

/** Deliveries are spread over this many lanes; one drainer works a lane at a time. */
export const laneCount = 64;

/** The lane of an endpoint and of all its deliveries. */
export function laneOf(endpointId: string): number {
  return createHash('md5').update(endpointId).digest().readUInt8(0) % laneCount;
}

/** Such as `dlv_07` + 7 characters of time + 11 random ones: ids of a lane ascend with time, to the second. */
export function newDeliveryId(lane: number, nowMillis: number): string {
  return `dlv_${String(lane).padStart(2, '0')}${timeText(nowMillis)}${randomText(11)}`;
}

/** The lane that a delivery's id names; null when the text is no delivery's id. */
export function laneOfDelivery(id: string): number | null {
  const [, digits] = /^dlv_(\d\d)[0-9A-Za-z]{18}$/.exec(id) ?? [];
  const lane = Number(digits ?? laneCount);
  return lane < laneCount ? lane : null;
}

/** Seven base-36 digits of seconds: in the order of their bytes until the year 4453. */
function timeText(nowMillis: number): string {
  return Math.floor(nowMillis / 1000)
    .toString(36)
    .padStart(7, '0');
}

/** How often the lanes are looked over when nobody calls. */
export const scanMillis = 1000;
/** How soon after the last time, at the soonest. */
const minScanMillis = 10;
/** A fifth of the time goes into looking, at most. */
const restFactor = 4;

/**
 * How long after a look over the lanes the next may come. With ten thousand endpoints one takes 50 ms, and
 * some delivery always falls due in the next few: one look after the other would keep the database busy.
 */
export function restAfter(tookMillis: number): number {
  return Math.min(scanMillis, Math.max(minScanMillis, restFactor * tookMillis));
}

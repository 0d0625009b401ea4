/**
 * What an endpoint that is ordered got of one store or group, by first arrivals: an event comes once the one before it was
 * answered 2xx, and what was reported later has the larger number. What was given up, or was sent again by hand, comes when
 * it comes.
 *
 * @param {{ name: string, sequence: number, firstAt: number, answeredAt: number, reportedAt: number, acceptedAt: number,
 *   isFree: boolean }[]} arrivals `reportedAt` and `acceptedAt`: between which two moments it was accepted; `answeredAt`:
 *   when the first 2xx was on its way; `isFree`: it need not be in order
 * @returns {string[]} what was out of order
 */
export function findKeyDisorder(arrivals) {
  const faults = [];
  const bound = arrivals.filter(({ isFree }) => !isFree);
  let latest = null;
  for (const one of bound.toSorted((left, right) => left.sequence - right.sequence)) {
    if (latest !== null && one.firstAt < latest.answeredAt)
      faults.push(`${one.name} came before ${latest.name} was answered`);
    if (one.answeredAt > (latest?.answeredAt ?? 0)) latest = one;
  }
  let [ended, largest] = [0, null];
  const byEnd = bound.toSorted((left, right) => left.acceptedAt - right.acceptedAt);
  for (const one of bound.toSorted((left, right) => left.reportedAt - right.reportedAt)) {
    for (; ended < byEnd.length && byEnd[ended].acceptedAt < one.reportedAt; ended += 1)
      if (byEnd[ended].sequence > (largest?.sequence ?? 0)) largest = byEnd[ended];
    if (largest !== null && one.sequence < largest.sequence)
      faults.push(`${one.name} goes before ${largest.name}, which was accepted before it`);
  }
  return faults;
}

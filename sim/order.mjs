/**
 * Whether what many clients have seen has an order: what one saw before another began to look must not be undone. Each
 * observation is of one thing that only grows, such as the attempts of a delivery, by a call that lasted `from` … `to`.
 * This knows nothing of the model: it compares observations with each other alone.
 *
 * @param {{ key: string, from: number, to: number, value: number, what: string }[]} observations
 * @returns {string[]} what was seen out of order
 */
export function findDisorder(observations) {
  const byKey = new Map();
  for (const one of observations) byKey.set(one.key, [...(byKey.get(one.key) ?? []), one]);
  return [...byKey.values()].flatMap(disorderOfOne);
}

/** The most that any call had seen that ended before this one began must be seen by this one, too. */
function disorderOfOne(observations) {
  const byEnd = observations.toSorted((one, other) => one.to - other.to);
  const byStart = observations.toSorted((one, other) => one.from - other.from);
  const faults = [];
  let ended = 0;
  let most = null;
  for (const observation of byStart) {
    for (; ended < byEnd.length && byEnd[ended].to < observation.from; ended += 1) {
      if (most === null || byEnd[ended].value > most.value) most = byEnd[ended];
    }
    if (most !== null && observation.value < most.value) {
      faults.push(`${observation.key} was seen as ${observation.what}, and before as ${most.what}`);
    }
  }
  return faults;
}

import type { DeliveryChange, DeliverySettings } from './delivery-settings.contract.ts';

/** The settings after a change; null where all have their defaults. */
export function changeDelivery(
  before: DeliverySettings | null,
  change: DeliveryChange | null,
): DeliverySettings | null {
  if (change === null) return null;
  const set = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  return set.length === 0 ? null : Object.fromEntries(set);
}

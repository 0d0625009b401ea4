import { sumDigests } from '../../kernel/digest.ts';
import type { CounterDelta, Delta } from './queries.ts';

/** Sums what was added to days up to their months, stores, the days of tenants, and tenants. */
export function rollUp(days: readonly Delta[]): {
  months: CounterDelta[];
  stores: CounterDelta[];
  tenantDays: CounterDelta[];
  tenants: CounterDelta[];
} {
  const months = new Map<string, CounterDelta>();
  const stores = new Map<string, CounterDelta>();
  const tenantDays = new Map<string, CounterDelta>();
  const tenants = new Map<string, CounterDelta>();
  for (const { day, ...rest } of days) {
    const month = day.slice(0, 7);
    // Names hold no "/", so the keys cannot collide.
    add(months, `${rest.tenant}/${rest.store}/${month}`, { ...rest, month });
    add(stores, `${rest.tenant}/${rest.store}`, rest);
    add(tenantDays, `${rest.tenant}/${day}`, { ...rest, day });
    add(tenants, rest.tenant, rest);
  }
  return {
    months: [...months.values()],
    stores: [...stores.values()],
    tenantDays: [...tenantDays.values()],
    tenants: [...tenants.values()],
  };
}

function add(sums: Map<string, CounterDelta>, key: string, delta: CounterDelta): void {
  const sum = sums.get(key);
  if (sum === undefined) {
    sums.set(key, { ...delta });
    return;
  }
  sum.count += delta.count;
  sum.bytes += delta.bytes;
  sum.digest = sumDigests([BigInt(sum.digest), BigInt(delta.digest)]).toString();
  if (delta.first_at < sum.first_at) sum.first_at = delta.first_at;
  if (delta.last_at > sum.last_at) sum.last_at = delta.last_at;
}

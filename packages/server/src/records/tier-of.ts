import type { tiers } from './values.ts';

/** Returns where the records of a counter lie: all in PostgreSQL (hot), all in segments (cold), or in both (mixed). */
export function tierOf({ count, cold_count }: { count: number; cold_count: number }) {
  const tier: (typeof tiers)[number] =
    cold_count === 0 ? 'hot' : cold_count === count ? 'cold' : 'mixed';
  return tier;
}

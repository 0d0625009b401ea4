/**
 * How much each kind of run measures. `pairs`: how often ours and the other side take turns. `smallest` only
 * shows that a section still runs; each tenant costs moves of its own, so it has three.
 */
export const sizes = {
  smallest: {
    flights: 12_000,
    tenants: ['TX', 'CA', 'AK'],
    pairs: 1,
    requests: 3,
    idleMillis: 100,
    segmentDays: 1,
  },
  quick: { flights: 200_000, pairs: 1, requests: 40, idleMillis: 3000, segmentDays: 6 },
  standard: { flights: 3_000_000, pairs: 5, requests: 300, idleMillis: 20_000, segmentDays: 15 },
  full: { flights: 3_000_000, pairs: 9, requests: 1000, idleMillis: 30_000, segmentDays: 60 },
};

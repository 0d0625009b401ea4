/**
 * How much each kind of run measures. `pairs`: how often ours and the other side take turns. `smallest` only
 * shows that a section still runs.
 */
export const sizes = {
  smallest: {
    flights: 4000,
    pairs: 1,
    warmMillis: 100,
    idleMillis: 200,
    leaves: { tenants: 5, stores: 10, months: 12, requests: 3 },
  },
  quick: {
    flights: 200_000,
    pairs: 1,
    warmMillis: 3000,
    idleMillis: 3000,
    leaves: { tenants: 20, stores: 84, months: 12, requests: 40 },
  },
  standard: {
    flights: 3_000_000,
    pairs: 3,
    warmMillis: 3000,
    idleMillis: 15_000,
    leaves: { tenants: 200, stores: 417, months: 12, requests: 200 },
  },
  full: {
    flights: 3_000_000,
    pairs: 7,
    warmMillis: 3000,
    idleMillis: 30_000,
    leaves: { tenants: 200, stores: 417, months: 12, requests: 1000 },
  },
};

/** How much each kind of run measures. `pairs`: how often ours and the other side take turns. */
export const sizes = {
  quick: {
    flights: 200_000,
    pairs: 1,
    idleMs: 3000,
    leaves: { tenants: 20, stores: 84, months: 12, requests: 40 },
  },
  standard: {
    flights: 3_000_000,
    pairs: 3,
    idleMs: 15_000,
    leaves: { tenants: 200, stores: 417, months: 12, requests: 200 },
  },
  full: {
    flights: 3_000_000,
    pairs: 7,
    idleMs: 30_000,
    leaves: { tenants: 200, stores: 417, months: 12, requests: 1000 },
  },
};

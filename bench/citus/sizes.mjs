/** How much each kind of run measures. `rounds`: how often the two sides take turns after a first one that does not count. */
export const sizes = {
  smallest: { flights: 5000, singles: 10, requests: 3, deliveries: 200, rounds: 0 },
  quick: { flights: 20_000, singles: 100, requests: 30, deliveries: 2000, rounds: 1 },
  standard: { flights: 20_000, singles: 200, requests: 60, deliveries: 3000, rounds: 3 },
  full: { flights: 50_000, singles: 400, requests: 100, deliveries: 6000, rounds: 3 },
};

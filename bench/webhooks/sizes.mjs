/** How much each kind of run measures. */
export const sizes = {
  quick: {
    throughput: { deliveries: 5000, pairs: 1 },
    latency: { seconds: 5, singles: 10 },
    isolation: { seconds: 5, backlog: 10_000, pairs: 1 },
    deadLetters: { few: 2000, many: 50_000, requests: 50 },
    rearm: { rows: 20_000 },
  },
  standard: {
    throughput: { deliveries: 30_000, pairs: 3 },
    latency: { seconds: 30, singles: 50 },
    isolation: { seconds: 20, backlog: 100_000, pairs: 2 },
    deadLetters: { few: 10_000, many: 1_000_000, requests: 300 },
    rearm: { rows: 1_000_000 },
  },
};
sizes.full = sizes.standard;

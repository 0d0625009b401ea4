/**
 * How much each kind of run makes and measures. `base`: the records of the small world that the large one is compared
 * with. `perDay`: the records of a store's day, of which each tenant has 240. `verified`: the percentage of the large world that is
 * verified. `--records` replaces `records`.
 */
export const sizes = {
  smallest: { base: 12_000, records: 14_000, perDay: 5, requests: 3, exports: 1, verified: 50 },
  quick: { base: 240_000, records: 1_000_000, perDay: 50, requests: 40, exports: 3, verified: 10 },
  standard: {
    base: 1_000_000,
    records: 10_000_000,
    perDay: 210,
    requests: 300,
    exports: 9,
    verified: 1,
  },
  full: {
    base: 1_000_000,
    records: 1_000_000_000,
    perDay: 210,
    requests: 300,
    exports: 9,
    verified: 1,
  },
};

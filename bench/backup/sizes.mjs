/** How much each kind of run measures. `pairs`: how often ours and the other side take turns. */
export const sizes = {
  smallest: { flights: 2000, pairs: 1 },
  quick: { flights: 100_000, pairs: 1 },
  standard: { flights: 1_000_000, pairs: 3 },
  full: { flights: 3_000_000, pairs: 5 },
};

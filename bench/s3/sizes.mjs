/**
 * How much each kind of run measures. `pairs`: how often S3 and the folder take turns. `starts`: how many processes
 * read their first page. `rows`: how many records a page shows. `smallest` only shows that a section still runs.
 */
export const sizes = {
  smallest: { flights: 4000, rows: 10, pairs: 1, requests: 3, starts: 1 },
  quick: { flights: 100_000, rows: 500, pairs: 1, requests: 60, starts: 3 },
  standard: { flights: 400_000, rows: 500, pairs: 3, requests: 300, starts: 5 },
  full: { flights: 3_000_000, rows: 500, pairs: 5, requests: 1000, starts: 9 },
};

/** Discards what a deleted endpoint leaves behind, a batch at a time, and keeps the counts right. */
export { discardOfEndpoint } from './queries.ts';

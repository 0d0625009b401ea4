import type { KeyRange } from '../../slice.ts';

/** Rows that stand together in a segment, from `firstRow` on, counted from 0. */
export type Run = { readonly segmentId: string; readonly firstRow: number; readonly count: number };

/** Cold rows that are read at once: in key order once they are sorted, whatever runs they come in. */
export type Chunk = { readonly runs: readonly Run[]; readonly count: number };

/**
 * A stretch of a slice in key order. Without chunks all its records are hot, with `hotCount` 0 all are
 * cold; else both are to be merged.
 */
export type Step = {
  readonly range: KeyRange;
  readonly hotCount: number;
  /** In key order. */
  readonly chunks: readonly Chunk[];
};

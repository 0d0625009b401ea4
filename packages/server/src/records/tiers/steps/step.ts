import type { StoreDay } from './queries.ts';

/** Rows that stand together in a segment, from `firstRow` on, counted from 0. */
export type Run = { readonly segmentId: string; readonly firstRow: number; readonly count: number };

/** Cold rows that are read at once: in key order once they are sorted, whatever runs they come in. */
export type Chunk = { readonly runs: readonly Run[]; readonly count: number };

/** Store-days that follow each other, both ends included. */
export type KeyRange = {
  readonly first: StoreDay;
  readonly last: StoreDay;
  /** The earliest and the latest day in it, of whatever store. */
  readonly minDay: string;
  readonly maxDay: string;
};

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

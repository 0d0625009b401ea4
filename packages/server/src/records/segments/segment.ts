/** A day of a store of the tenant at hand. Days are `YYYY-MM-DD`, UTC. */
export type StoreDay = { readonly store: string; readonly day: string };

/** What proves a copy: records, their bytes, and the sum of their digests mod 2^64 as decimal text. */
export type DayTriple = StoreDay & {
  readonly count: number;
  readonly bytes: number;
  readonly digest: string;
};

/** Where the records of a store's day stand in a segment. Times as on the wire. */
export type SegmentDay = DayTriple & {
  /** Counted from 0; its rows stand together. */
  readonly first_row: number;
  readonly first_at: string;
  readonly last_at: string;
};

/** A segment as the catalogue has it. */
export type NewSegment = {
  readonly id: string;
  readonly object_key: string;
  readonly size_bytes: number;
  readonly sha256: Buffer;
  readonly days: readonly SegmentDay[];
};

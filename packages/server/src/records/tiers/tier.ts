import type { RecordKey, RecordRow } from '../queries.ts';
import type { Slice } from '../slice.ts';

export type ScanOptions = {
  /** Read on beyond this key, or from it on. */
  after: RecordKey | null;
  isInclusive?: boolean | undefined;
  descending: boolean;
  /** Records, at most. */
  limit: number;
  /** What lies beyond this key is not asked for. */
  until?: RecordKey | null | undefined;
};

/** Some of a slice's records, in the order they were read. */
export type Scan = {
  rows: RecordRow[];
  /**
   * How far it has looked: all records of the slice up to and with this key are in `rows`. It may be the
   * key of no record. Null = to the end of the slice, or to `until`.
   */
  end: RecordKey | null;
};

/** Where records lie. Both tiers give the same answers for the same records, to the letter. */
export type Tier = {
  /**
   * Reads a bounded stretch of the slice: at most `limit` records, 8 MiB, and behind filters on what only
   * a record tells, such as its kind, 10,000 records looked at.
   */
  scan(slice: Slice, options: ScanOptions): Promise<Scan>;
  find(key: RecordKey): Promise<RecordRow | undefined>;
};

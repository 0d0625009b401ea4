import { sumDigests } from '../../kernel/digest.ts';
import type { DuckDb } from '../../platform/duckdb.ts';
import type { ObjectReader } from '../../platform/objects/objects.ts';
import type { SegmentPiece } from './pieces.ts';

/** A day of a store; the tenant is known from the context. Days are `YYYY-MM-DD`, UTC. */
export type StoreDay = { readonly store: string; readonly day: string };

/** What proves that a copy is complete: records, bytes, and the sum of digests mod 2^64 as decimal text. */
export type DayTriple = StoreDay & {
  readonly count: number;
  readonly bytes: number;
  readonly digest: string;
};

/** Where the records of a store's day stand in a segment. Times are spelled as in answers. */
export type SegmentDay = DayTriple & {
  /** The first row, counted from 0. The rows of a day stand together. */
  readonly first_row: number;
  readonly first_at: string;
  readonly last_at: string;
};

/** What the catalogue knows of a live segment of a tenant. Days are `YYYY-MM-DD`. */
export type LiveSegment = {
  id: string;
  object_key: string;
  size_bytes: number;
  sha256: Buffer;
  first_day: string;
  last_day: string;
};

/** A segment as the catalogue stores it. */
export type NewSegment = {
  readonly id: string;
  readonly object_key: string;
  readonly size_bytes: number;
  readonly sha256: Buffer;
  readonly days: readonly SegmentDay[];
  /** Where its row groups lie; null when it has only one, or when nobody looked. */
  readonly pieces: readonly SegmentPiece[] | null;
  /** Tells which events it may hold; see `event-filter.ts`. */
  readonly eventFilter: Buffer;
};

/** The number, bytes and digest of a set of records. Sets with equal triples hold the same records. */
export type Triple = Pick<DayTriple, 'count' | 'bytes' | 'digest'>;

export const emptyTriple: Triple = { count: 0, bytes: 0, digest: '0' };

/** Returns the triple of the union of disjoint sets. */
export function sumTriples(triples: Iterable<Triple>): Triple {
  let [count, bytes, digest] = [0, 0, 0n];
  for (const triple of triples) {
    count += triple.count;
    bytes += triple.bytes;
    digest = sumDigests([digest, BigInt(triple.digest)]);
  }
  return { count, bytes, digest: digest.toString() };
}

/** Returns the triple of what is in `whole` but not in `part`; negative counts if `part` is no subset. */
export function subtractTriples(whole: Triple, part: Triple): Triple {
  return {
    count: whole.count - part.count,
    bytes: whole.bytes - part.bytes,
    digest: BigInt.asUintN(64, BigInt(whole.digest) - BigInt(part.digest)).toString(),
  };
}

export function isSameTriple(a: Triple, b: Triple): boolean {
  return a.count === b.count && a.bytes === b.bytes && BigInt(a.digest) === BigInt(b.digest);
}

/** Groups triples by store and day; those of the same day are summed. */
export function sumByDay(triples: Iterable<DayTriple>): Map<string, DayTriple> {
  const sums = new Map<string, DayTriple>();
  for (const triple of triples) {
    const key = dayKey(triple);
    const { store, day } = triple;
    sums.set(key, { store, day, ...sumTriples([sums.get(key) ?? emptyTriple, triple]) });
  }
  return sums;
}

/** Returns a key for maps by store and day. It is unique, because names of stores hold no "/". */
export function dayKey({ store, day }: StoreDay): string {
  return `${store}/${day}`;
}

/**
 * Divides the size of an object among its days by their bytes, in whole numbers: what is left after rounding down goes to
 * the largest remainders, and among equal ones to the earlier.
 */
export function shareStoredBytes(bytes: readonly number[], sizeBytes: number): number[] {
  const size = BigInt(sizeBytes);
  const total = bytes.reduce((sum, value) => sum + BigInt(value), 0n);
  if (total === 0n) return bytes.map((_, index) => (index === 0 ? sizeBytes : 0));
  const shares = bytes.map((value) => Number((BigInt(value) * size) / total));
  const rest = sizeBytes - shares.reduce((sum, share) => sum + share, 0);
  const byRemainder = bytes
    .map((value, index) => ({ index, remainder: (BigInt(value) * size) % total }))
    .sort((a, b) => compare(b.remainder, a.remainder) || a.index - b.index);
  for (const { index } of byRemainder.slice(0, rest)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The catalogue, counters or hot records are not what a change was prepared for. Trying again finds the same. */
export class SourceChanged extends Error {}

/** What is needed to read cold records. */
export type ColdReader = { readonly duckdb: DuckDb; readonly objects: ObjectReader };

import { sumDigests } from '../../kernel/digest.ts';
import type { DayTriple, StoreDay } from './segment.ts';

export type Triple = Pick<DayTriple, 'count' | 'bytes' | 'digest'>;

export const emptyTriple: Triple = { count: 0, bytes: 0, digest: '0' };

/** The triple of disjoint sets taken together. */
export function sumTriples(triples: Iterable<Triple>): Triple {
  let [count, bytes, digest] = [0, 0, 0n];
  for (const triple of triples) {
    count += triple.count;
    bytes += triple.bytes;
    digest = sumDigests([digest, BigInt(triple.digest)]);
  }
  return { count, bytes, digest: digest.toString() };
}

/** The triple of what is in `whole` and not in its subset `part`; counts go below 0 if it is none. */
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

/** Triples by store and day; those of one store's day are summed. */
export function sumByDay(triples: Iterable<DayTriple>): Map<string, DayTriple> {
  const sums = new Map<string, DayTriple>();
  for (const triple of triples) {
    const key = dayKey(triple);
    const { store, day } = triple;
    sums.set(key, { store, day, ...sumTriples([sums.get(key) ?? emptyTriple, triple]) });
  }
  return sums;
}

/** Of a store's day, for maps: store names hold no "/". */
export function dayKey({ store, day }: StoreDay): string {
  return `${store}/${day}`;
}

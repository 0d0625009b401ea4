import { dayAfter } from '../../kernel/day.ts';
/** A store of a sample. `hits` of all the `places` of the sample fall into it. */
export type PickedStore = {
  readonly store: string;
  readonly hits: number;
  readonly places: number;
  /** The number of records of the slice, in all its stores. */
  readonly total: number;
};

export type CountedDay = {
  readonly store: string;
  readonly day: string;
  readonly count: number;
  readonly cold_count: number;
};

/** The first `most` hot records of a store between two times, both inclusive. */
export type HotStretch = {
  readonly store: string;
  readonly first_at: string;
  readonly last_at: string;
  readonly most: number;
};

/** How many records of a day of a store are looked at: the first ones of each tier. */
export type Take = {
  readonly store: string;
  readonly day: string;
  readonly hot: number;
  readonly cold: number;
  /** Whether these are all hot records of the day. */
  readonly isWhole: boolean;
};

/**
 * Spreads the places of a sample evenly over the days of their stores, in proportion to the number of records. At each
 * place it takes `recordsEach` records, from the day that the place falls on and the days that follow; after the last
 * day it goes on with the first. What is taken of a day is shared between its tiers in proportion to their records.
 */
export function pickDays(
  stores: readonly PickedStore[],
  days: readonly CountedDay[],
  recordsEach: number,
): Take[] {
  const byStore = new Map<string, CountedDay[]>();
  for (const day of days) {
    const own = byStore.get(day.store) ?? [];
    own.push(day);
    byStore.set(day.store, own);
  }
  return stores.flatMap(({ store, hits }) => {
    const own = byStore.get(store) ?? [];
    const taken = takeEvenly(
      own.map(({ count }) => count),
      hits,
      recordsEach,
    );
    return own.flatMap((day, n) => toTake(day, taken[n] ?? 0));
  });
}

/** Takes all records of the days. */
export function takeAll(days: readonly CountedDay[]): Take[] {
  return days.flatMap((day) => toTake(day, day.count));
}

/**
 * Returns the hot part of what is taken. Days that follow one another make one stretch. Only the last day of a stretch
 * may be taken in part, because a stretch is read from its beginning up to a limit.
 */
export function toHotStretches(takes: readonly Take[]): HotStretch[] {
  const stretches: { store: string; from: string; to: string; most: number; isWhole: boolean }[] =
    [];
  for (const { store, day, hot, isWhole } of takes) {
    const before = stretches.at(-1);
    if (before?.store === store && before.isWhole && dayAfter(before.to) === day) {
      before.to = day;
      before.most += hot;
      before.isWhole = isWhole;
    } else {
      stretches.push({ store, from: day, to: day, most: hot, isWhole });
    }
  }
  return stretches
    .filter(({ most }) => most > 0)
    .map(({ store, from, to, most }) => ({
      store,
      first_at: `${from}T00:00:00.000000Z`,
      last_at: `${to}T23:59:59.999999Z`,
      most,
    }));
}

function toTake({ store, day, count, cold_count }: CountedDay, records: number): Take[] {
  if (records === 0) return [];
  const cold = Math.round((records * cold_count) / count);
  const hot = records - cold;
  return [{ store, day, hot, cold, isWhole: hot === count - cold_count }];
}

/** Returns how many records are taken of each day. No day gives more than it has. */
function takeEvenly(counts: readonly number[], hits: number, recordsEach: number): number[] {
  const taken = counts.map(() => 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  for (let hit = 0; hit < hits; hit++) {
    const first = dayAt(counts, ((hit + 0.5) * total) / hits);
    let wanted = recordsEach;
    for (let step = 0; step < counts.length && wanted > 0; step++) {
      const at = (first + step) % counts.length;
      const given = Math.min(wanted, (counts[at] ?? 0) - (taken[at] ?? 0));
      taken[at] = (taken[at] ?? 0) + given;
      wanted -= given;
    }
  }
  return taken;
}

/** Returns the day of the record that has this many records before it. */
function dayAt(counts: readonly number[], place: number): number {
  let before = 0;
  for (const [n, count] of counts.entries()) {
    before += count;
    if (place < before) return n;
  }
  return 0;
}

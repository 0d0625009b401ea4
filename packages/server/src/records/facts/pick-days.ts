import { createHash } from 'node:crypto';
import { dayAfter } from '../../kernel/day.ts';

/** How large a sample is. Tests use small numbers. */
export type SampleSize = {
  /** A slice with at most this many records is looked at whole; of a larger one about as many records are. */
  readonly records: number;
  /** How many places they are looked for in, each with as many records as the others. */
  readonly places: number;
  /** Of more stores there is a place for each, up to so many: stores differ more than the days of one do. */
  readonly mostPlaces: number;
  /** For each hot record that is looked at, the keys of at most about this many are read to find it. */
  readonly keysEach: number;
};

/** A store in which some place of a sample lies. */
export type PickedStore = {
  readonly store: string;
  /** How many records of the slice stand before the store's first one. */
  readonly before: number;
  /** The number of records of the slice, in all its stores. */
  readonly total: number;
  /** The number of places of the sample. */
  readonly places: number;
};

export type CountedDay = {
  readonly store: string;
  readonly day: string;
  readonly count: number;
  readonly cold_count: number;
};

/** How many records of a day of a store are looked at, and how many it has, in each tier. */
export type Take = {
  readonly store: string;
  readonly day: string;
  /** The number of the place that the day belongs to, most of it where it belongs to several. */
  readonly place: number;
  readonly hot: number;
  readonly hotCount: number;
  readonly cold: number;
  readonly coldCount: number;
};

/** Hot records of a store from one time up to another, which is not part of it. */
export type HotStretch = {
  readonly store: string;
  readonly first_at: string;
  readonly until_at: string;
};

/** A stretch of which only this share of the records is looked at. */
export type SampledStretch = HotStretch & { readonly share: number };

/**
 * Says how many records are looked at of each day. The records of the slice, in the order of reading, are cut into as many
 * equal stretches as there are places, and each has one somewhere in it, so that stores and days give by their numbers of
 * records, which the counters tell, however small they are. Were all at the same distance, they might all be Mondays.
 * What is taken of a day is shared between its tiers in proportion to their records.
 */
export function pickDays(
  stores: readonly PickedStore[],
  days: readonly CountedDay[],
  { size, phase }: { size: SampleSize; phase: number },
): Take[] {
  const before = new Map(stores.map((one) => [one.store, one.before]));
  const { total = 0, places = 1 } = stores[0] ?? {};
  const step = total / places;
  const each = size.records / places;
  /** The number of records in places, of all those before this one. */
  const placed = (record: number) => {
    const place = Math.floor(record / step);
    const at = record - place * step - partOf(place, phase) * (step - each);
    return Math.round(place * each + Math.min(each, Math.max(0, at)));
  };
  return days.flatMap((day) => {
    const first = before.get(day.store) ?? 0;
    before.set(day.store, first + day.count);
    const place = Math.floor((first + day.count / 2) / step);
    return toTake(day, placed(first + day.count) - placed(first), place);
  });
}

/** Takes all records of the days. */
export function takeAll(days: readonly CountedDay[]): Take[] {
  return days.flatMap((day) => toTake(day, day.count, 0));
}

function toTake(
  { store, day, count, cold_count }: CountedDay,
  records: number,
  place: number,
): Take[] {
  if (records === 0) return [];
  const cold = Math.round((records * cold_count) / count);
  const hotCount = count - cold_count;
  return [{ store, day, place, hot: records - cold, hotCount, cold, coldCount: cold_count }];
}

/** Returns `wanted` of the numbers below `count`, one in each equal stretch; the golden ratio has no rhythm. */
export function spread(count: number, wanted: number, phase: number): number[] {
  return Array.from({ length: wanted }, (_, n) => {
    const first = Math.floor((n * count) / wanted);
    const size = Math.floor(((n + 1) * count) / wanted) - first;
    return first + Math.floor(partOf(n, phase) * size);
  });
}

export const goldenRatio = 0.618033988749895;

function partOf(n: number, phase: number): number {
  return (n * goldenRatio + phase) % 1;
}

/** A number from 0 up to 1 that is always the same for these names, so that a slice always has the same sample. */
export function phaseOf(...names: readonly string[]): number {
  return createHash('md5').update(names.join('/')).digest().readUInt32BE(0) / 2 ** 32;
}

/** Returns the days of which all hot records are looked at; those that follow one another are one stretch. */
export function toWholeStretches(takes: readonly Take[]): HotStretch[] {
  const stretches: { store: string; from: string; until: string }[] = [];
  for (const { store, day, hot, hotCount } of takes) {
    if (hot === 0 || hot < hotCount) continue;
    const before = stretches.at(-1);
    if (before?.store === store && before.until === day) before.until = dayAfter(day);
    else stretches.push({ store, from: day, until: dayAfter(day) });
  }
  return stretches.map(({ store, from, until }) => ({
    store,
    first_at: `${from}T00:00:00.000Z`,
    until_at: `${until}T00:00:00.000Z`,
  }));
}

const dayMillis = 86_400_000;
/** Pieces of five minutes. */
const piecesOfDay = 288;

/** Returns where the others are looked for: in the whole day, or in the same part of each of its pieces. */
export function toSampledStretches(takes: readonly Take[], keysEach: number): SampledStretch[] {
  return takes.flatMap(({ store, day, hot, hotCount }) => {
    if (hot === 0 || hot === hotCount) return [];
    const phase = phaseOf(store, day);
    const part = Math.min(1, (hot * keysEach) / hotCount);
    const pieces = part === 1 ? 1 : piecesOfDay;
    const share = hot / (hotCount * part);
    const pieceMillis = dayMillis / pieces;
    const at = (millis: number) => new Date(Date.parse(day) + Math.round(millis)).toISOString();
    return Array.from({ length: pieces }, (_, n) => {
      const first = (n + partOf(n, phase) * (1 - part)) * pieceMillis;
      const until = first + part * pieceMillis;
      return { store, first_at: at(first), until_at: at(until), share };
    });
  });
}

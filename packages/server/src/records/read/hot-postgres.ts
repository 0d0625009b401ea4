import { dayAfter } from '../../kernel/day.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { RecordKey, Stretch } from '../queries.ts';
import * as queries from '../queries.ts';
import { isCounted, type Slice } from '../slice/slice.ts';
import { readFiltered, scanHotTimes } from './by-time.ts';
import { boundary, firstDayBeyond, storeDayOf } from './plan-scan.ts';
import { type HotDay, listHotDays } from './queries.ts';
import { cutAt, type Scan, type ScanLimits, type ScanOptions, type Tier } from './tier.ts';

/** Reads the records in PostgreSQL. */
export function createHotTier(db: Queryable, limits: ScanLimits): Tier {
  return {
    async scan(slice, options) {
      if (options.isByTime) return scanHotTimes(db, slice, options, limits);
      // Records have an index of their event ids.
      const isOfEvent = slice.eventId !== undefined && slice.dataset === undefined;
      if (isOfEvent || isCounted(slice)) return scanWhole(db, slice, options);
      return readFiltered(db, slice, { limits, limit: options.limit }, async (looks) => {
        const found = await findStretches(db, slice, { ...options, limit: looks });
        const isEmpty = found.stretches?.length === 0;
        return {
          scan: isEmpty ? null : { ...options, stretches: found.stretches },
          end: found.end,
        };
      });
    },
    find: (key) => queries.findRecord(db, key),
  };
}

async function scanWhole(db: Queryable, slice: Slice, options: ScanOptions): Promise<Scan> {
  const { stretches, end } = await findStretches(db, slice, options);
  if (stretches?.length === 0) return { rows: [], end };
  const rows = await queries.listRecords(db, slice, { ...options, stretches });
  return { rows, end: cutAt(rows, options.limit) ?? end };
}

/** Without a dataset the slice is read directly, because its records follow one another in the order of the key. */
function findStretches(
  db: Queryable,
  slice: Slice,
  options: ScanOptions,
): Promise<HotStretches> | { stretches: undefined; end: null } {
  if (slice.dataset === undefined) return { stretches: undefined, end: null };
  return findHotStretches(db, slice, options);
}

type HotStretches = {
  /** Where the next hot records of the slice lie, in the order of reading. */
  readonly stretches: Stretch[];
  /** The key up to which the stretches reach; null when they reach to the end of the slice. */
  readonly end: RecordKey | null;
};

/** Finds with the counters the days that hold the next hot records of a tagged slice, enough for `limit` of them. */
async function findHotStretches(
  db: Queryable,
  slice: Slice,
  options: Pick<ScanOptions, 'after' | 'descending' | 'limit'>,
): Promise<HotStretches> {
  const { after, descending } = options;
  const from = after === null ? null : firstDayBeyond(after, descending);
  const lookUp = daysFor(options.limit);
  const days = await listHotDays(db, slice, { from, descending, limit: lookUp });
  const picked = pickDays(days, options);
  const last = picked.at(-1);
  const mayBeMore = picked.length < days.length || days.length === lookUp;
  return {
    stretches: toStretches(picked, options),
    end: mayBeMore && last !== undefined ? boundary(last, descending) : null,
  };
}

/** So many days are looked up: one for each record of a page, and the cursor's; more with a filter. 600 take 5 ms. */
function daysFor(limit: number): number {
  if (limit <= 101) return 105;
  return limit <= 501 ? 600 : 3_000;
}

/** Picks days until they hold `limit` records. Of the cursor's day nobody knows how many follow: it counts as empty. */
function pickDays(
  days: readonly HotDay[],
  { after, limit }: Pick<ScanOptions, 'after' | 'limit'>,
): HotDay[] {
  const [, store, day] = after === null ? [] : storeDayOf(after);
  const picked: HotDay[] = [];
  let sure = 0;
  for (const next of days) {
    if (sure >= limit) break;
    picked.push(next);
    if (next.store !== store || next.day !== day) sure += next.count;
  }
  return picked;
}

/** Joins days of a store that follow one another into stretches. A stretch on the cursor's day begins at the cursor. */
function toStretches(
  days: readonly HotDay[],
  { after, descending }: Pick<ScanOptions, 'after' | 'descending'>,
): Stretch[] {
  const stretches: { store: string; from: string; to: string }[] = [];
  for (const { store, day } of days) {
    const before = stretches.at(-1);
    const isNext =
      before?.store === store &&
      dayAfter(descending ? day : before.to) === (descending ? before.from : day);
    if (before === undefined || !isNext) stretches.push({ store, from: day, to: day });
    else if (descending) before.from = day;
    else before.to = day;
  }
  return stretches.map(({ store, from, to }) => {
    const [first, last] = [`${from}T00:00:00.000000Z`, `${to}T23:59:59.999999Z`];
    const at = after?.[1] === store ? after[2] : null;
    if (at === null || at < first || at > last) return { store, first_at: first, last_at: last };
    return { store, first_at: descending ? first : at, last_at: descending ? at : last };
  });
}

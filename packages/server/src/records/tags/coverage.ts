import { firstOfMonth, firstOfNextMonth } from '../../kernel/day.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Span, TagWindows } from '../slice/slice.ts';
import { type CounterScope, spansOf, untagged, type Weight } from './counters.ts';
import { toStretches } from './stretches.ts';
import { type Place, type Share, sumShares } from './sums.ts';
import { readTagsOf } from './windows.ts';

/** What a row of the tree counts: all records of a tenant or a store from the first to the last day of that row. */
export type CountedRow = CounterScope & {
  readonly count: number;
  readonly first_at: string | null;
  readonly last_at: string | null;
};

/** How many records lie in at least one tagged window, and how many in those of each dataset. */
export type Coverage = { -readonly [kind in keyof Weight]: number };

/** Returns how many records of each row are tagged, exactly, from the counters of the snapshot of `db`. */
export async function readCoverage(
  db: Queryable,
  rows: readonly CountedRow[],
): Promise<Coverage[]> {
  const tags = await readTagsOf(db, [...new Set(rows.map(({ tenant }) => tenant))]);
  const { known, shares } = planCoverage(rows, tags);
  await sumShares(db, shares, (row, weight, count) => {
    const own = known[row];
    if (own !== undefined) addCoverage(own, weight, count);
  });
  return known;
}

/** Says what is known of the rows by their own counts, and which counters are to be added to it. */
export function planCoverage(
  rows: readonly CountedRow[],
  tags: ReadonlyMap<string, TagWindows>,
): { known: Coverage[]; shares: Share[] } {
  const stretches = new Map([...tags].map(([tenant, own]) => [tenant, toStretches(own)]));
  const known = rows.map(() => ({ ...untagged }));
  const shares = new Map<string, Share & { places: Place[] }>();
  const share = (place: Place, { run, weight }: Omit<Share, 'places'>) => {
    const key = JSON.stringify([place.store === null ? null : place.tenant, run, weight]);
    const own = shares.get(key) ?? { run, weight, places: [] };
    shares.set(key, own);
    own.places.push(place);
  };
  for (const [row, { tenant, store, count, first_at, last_at }] of rows.entries()) {
    const [own, sum] = [stretches.get(tenant), known[row]];
    if (own === undefined || sum === undefined || first_at === null || last_at === null) continue;
    const days = { first: first_at.slice(0, 10), last: last_at.slice(0, 10) };
    for (const { weight, ...span } of own.of(store)) {
      if (span.from <= days.first && span.until > days.last) addCoverage(sum, weight, count);
      else
        for (const run of runsWithin(days, span, store !== null))
          share({ row, tenant, store }, { run, weight });
    }
    if (store !== null) continue;
    for (const [name, added] of own.added) {
      for (const { weight, ...span } of added) {
        for (const run of runsWithin(days, span, true))
          share({ row, tenant, store: name }, { run, weight });
      }
    }
  }
  return { known, shares: [...shares.values()] };
}

/**
 * The counters of a span, as far as it lies in the days of a row. Its first and its last month are taken as whole ones
 * where the span goes on: there are no records on the added days, and a month is one counter instead of thirty.
 */
function runsWithin(
  { first, last }: { first: string; last: string },
  { from, until }: Span,
  isOfStore: boolean,
) {
  if (from > last || until <= first) return [];
  return spansOf(isOfStore, {
    from: from > first ? from : firstOfMonth(first),
    until: until <= last ? until : firstOfNextMonth(last),
  });
}

export function addCoverage(sum: Coverage, weight: Weight, count: number): void {
  sum.covered += weight.covered * count;
  sum.training += weight.training * count;
  sum.fine_tuning += weight.fine_tuning * count;
}

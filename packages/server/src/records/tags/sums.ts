import { dayAfter } from '../../kernel/day.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { beyondLastDay, firstDay, type Span } from '../slice/slice.ts';
import {
  type CounterRun,
  type CounterScope,
  type CounterSpan,
  runsOf,
  type Weight,
} from './counters.ts';
import { type CounterSum, sumByName, sumCounters, type TagWindow } from './queries.ts';
import { readTagWindows } from './windows.ts';

/** A tenant or a store whose counters are to be added, and the row they are added to. */
export type Place = CounterScope & { readonly row: number };

/** A run of counters whose sums are to be added to rows, with this weight: of stores of one tenant, or of tenants. */
export type Share = {
  readonly places: readonly Place[];
  readonly run: CounterSpan;
  readonly weight: Weight;
};

/** From this many rows on, one pass over all of them takes less time than a probe for each. */
const fewestPlaces = 50;

/** Reports for each share what its counters add up to: row, weight and count. */
export async function sumShares(
  db: Queryable,
  shares: readonly Share[],
  add: (row: number, weight: Weight, count: number) => void,
): Promise<void> {
  const singles: { row: number; weight: Weight; run: CounterRun }[] = [];
  for (const { places, run, weight } of shares) {
    if (places.length < fewestPlaces) {
      for (const { row, ...scope } of places)
        singles.push({ row, weight, run: { ...run, ...scope } });
      continue;
    }
    const counts = await sumByName(db, places, run);
    for (const { row, tenant, store } of places) add(row, weight, counts.get(store ?? tenant) ?? 0);
  }
  const sums = await sumRuns(
    db,
    singles.map(({ run }) => run),
  );
  for (const [i, { row, weight }] of singles.entries()) add(row, weight, sums[i]?.count ?? 0);
}

/** Returns the records and the bytes that are in each window now, from counters. */
export async function sumWindows(
  db: Queryable,
  windows: readonly Omit<TagWindow, 'dataset'>[],
): Promise<CounterSum[]> {
  const runs = windows.flatMap((window, place) =>
    runsOf(window, spanOf(window)).map((run) => ({ place, run })),
  );
  const sums: CounterSum[] = windows.map(() => ({ count: 0, bytes: 0 }));
  const found = await sumRuns(
    db,
    runs.map(({ run }) => run),
  );
  for (const [i, { place }] of runs.entries()) {
    const sum = sums[place];
    if (sum === undefined) continue;
    sum.count += found[i]?.count ?? 0;
    sum.bytes += found[i]?.bytes ?? 0;
  }
  return sums;
}

/** Returns how many records of a window are in the other dataset too, by any of its tags. */
export async function countInOther(db: Queryable, window: TagWindow): Promise<number> {
  const { tenant, store, dataset } = window;
  const tags = await readTagWindows(db, tenant);
  const own = spanOf(window);
  const runs = tags[dataset === 'training' ? 'fine_tuning' : 'training']
    .filter((other) => other.store === null || store === null || other.store === store)
    .flatMap((other): CounterRun[] => {
      const from = other.from > own.from ? other.from : own.from;
      const until = other.until < own.until ? other.until : own.until;
      return runsOf({ tenant, store: store ?? other.store }, { from, until });
    });
  return (await sumRuns(db, runs)).reduce((sum, { count }) => sum + count, 0);
}

function spanOf({ from, to }: Pick<TagWindow, 'from' | 'to'>): Span {
  return { from: from ?? firstDay, until: to === null ? beyondLastDay : dayAfter(to) };
}

const tables = ['tenant_days', 'tenant_months', 'leaf_months', 'leaf_days'] as const;

/** Returns records and bytes of each run, in their order, by one statement for each table that is needed. */
async function sumRuns(db: Queryable, runs: readonly CounterRun[]): Promise<CounterSum[]> {
  const sums: CounterSum[] = runs.map(() => ({ count: 0, bytes: 0 }));
  for (const table of tables) {
    const places = [...runs.keys()].filter((place) => runs[place]?.table === table);
    if (places.length === 0) continue;
    const own = runs.filter((run) => run.table === table);
    for (const { number, count, bytes } of await sumCounters(db, table, own)) {
      const place = places[number];
      if (place !== undefined) sums[place] = { count, bytes };
    }
  }
  return sums;
}

import type { Queryable } from '../../platform/postgres/database.ts';
import { dayAfter } from './calendar.ts';
import { type CounterRun, runsOf } from './counters.ts';
import type { CounterSum, TagWindow } from './queries.ts';
import { readTagWindows } from './read-windows.ts';
import { sumRuns } from './sum-runs.ts';
import { beyondLastDay, firstDay, type Span } from './windows.ts';

/** Records and bytes in each window now, from counters. */
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

/** How many records of a window are in the other dataset too, by whatever tags. */
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

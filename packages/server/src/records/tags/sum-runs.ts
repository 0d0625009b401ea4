import type { Queryable } from '../../platform/postgres/database.ts';
import type { CounterRun } from './counters.ts';
import { type CounterSum, sumCounters } from './queries.ts';

const tables = ['tenant_days', 'leaf_months', 'leaf_days'] as const;

/** Records and bytes of each run, in their order. One statement for each table that is in question. */
export async function sumRuns(db: Queryable, runs: readonly CounterRun[]): Promise<CounterSum[]> {
  const sums: CounterSum[] = runs.map(() => ({ count: 0, bytes: 0 }));
  for (const table of tables) {
    const places = [...runs.keys()].filter((place) => runs[place]?.table === table);
    if (places.length === 0) continue;
    const own = runs.filter((run) => run.table === table);
    for (const { number, count, bytes } of await sumCounters(db, table, own)) {
      const place = places[number - 1];
      if (place !== undefined) sums[place] = { count, bytes };
    }
  }
  return sums;
}

import { dayAfter } from '../../kernel/day.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { Span, TagWindows } from '../slice/slice.ts';
import { type CounterScope, untagged, type Weight } from './counters.ts';
import { planRow, type RowPlan } from './plan-row.ts';
import { type TenantStretches, toStretches, type WeightedSpan } from './stretches.ts';
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

/**
 * Returns how many records of each row are tagged. The numbers are exact; they come from the counters of the snapshot
 * in which `db` must stand. If none of the tenants has tags, this costs one short statement.
 */
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

type CoveragePlan = {
  /** What is known of each row without reading counters. */
  readonly known: Coverage[];
  /** The counters that must be added to it. */
  readonly shares: readonly Share[];
};

/** Chooses the counters that tell the coverage of the rows, as few of them as possible. */
export function planCoverage(
  rows: readonly CountedRow[],
  tags: ReadonlyMap<string, TagWindows>,
): CoveragePlan {
  const stretches = new Map([...tags].map(([tenant, own]) => [tenant, toStretches(own)]));
  const known = rows.map(() => ({ ...untagged }));
  const plans = rememberPlans();
  const added = rows.flatMap((row, i) => {
    const own = stretches.get(row.tenant);
    const sum = known[i];
    const { tenant, store, first_at, last_at } = row;
    if (own === undefined || sum === undefined || first_at === null || last_at === null) return [];
    const days = { from: first_at.slice(0, 10), until: dayAfter(last_at.slice(0, 10)) };
    const plan = plans.of(store === null ? own.ofAll : own.ofStore(store), days, store !== null);
    addCoverage(sum, plan.whole, row.count);
    plan.places.push({ row: i, tenant, store });
    return store === null ? planStores({ row: i, tenant }, own.added, days) : [];
  });
  return { known, shares: [...plans.shares(), ...added] };
}

/** A plan, and the places of the rows that follow it. */
type SharedPlan = RowPlan & { readonly places: Place[] };

/**
 * Remembers plans. Most rows of a page begin and end on the same days and share one plan. The plans of tenants are
 * shared by all tenants that are tagged in the same way.
 */
function rememberPlans() {
  const plans = new Map<readonly WeightedSpan[], Map<string, SharedPlan>>();
  const byParts = new Map<string, Place[]>();
  const make = (stretches: readonly WeightedSpan[], days: Span, isOfStore: boolean): SharedPlan => {
    const plan = planRow(stretches, days, { isOfStore });
    if (isOfStore) return { ...plan, places: [] };
    const key = JSON.stringify(plan.parts);
    const places = byParts.get(key) ?? [];
    byParts.set(key, places);
    return { ...plan, places };
  };
  return {
    of(stretches: readonly WeightedSpan[], days: Span, isOfStore: boolean): SharedPlan {
      const own = plans.get(stretches) ?? new Map<string, SharedPlan>();
      plans.set(stretches, own);
      const key = `${days.from} ${days.until} ${isOfStore}`;
      const plan = own.get(key) ?? make(stretches, days, isOfStore);
      own.set(key, plan);
      return plan;
    },
    shares(): Share[] {
      const all = [...plans.values()].flatMap((own) => [...own.values()]);
      const once = new Map(all.map((plan) => [plan.places, plan]));
      return [...once.values()].flatMap(({ places, parts }) =>
        parts.map((part) => ({ places, ...part })),
      );
    },
  };
}

/** Returns what the tags of single stores add to the row of their tenant. */
function planStores(
  of: { row: number; tenant: string },
  added: TenantStretches['added'],
  days: Span,
): Share[] {
  return [...added].flatMap(([store, stretches]) => {
    const places = [{ ...of, store }];
    const { parts } = planRow(stretches, days, { isOfStore: true, whole: untagged });
    return parts.map((part) => ({ places, ...part }));
  });
}

export function addCoverage(sum: Coverage, weight: Weight, count: number): void {
  sum.covered += weight.covered * count;
  sum.training += weight.training * count;
  sum.fine_tuning += weight.fine_tuning * count;
}

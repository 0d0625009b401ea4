import type { Queryable } from '../../platform/postgres/database.ts';
import type { TagWindows } from '../slice.ts';
import { dayAfter, firstOfMonth, firstOfNextMonth } from './calendar.ts';
import {
  type CounterRun,
  type CounterSpan,
  costOf,
  runsOf,
  type Scope,
  spansOf,
} from './counters.ts';
import { readTagsOf } from './read-windows.ts';
import {
  clipStretches,
  type Stretch,
  type TenantStretches,
  toStretches,
  type Weight,
} from './stretches.ts';
import { sumRuns } from './sum-runs.ts';
import type { Span } from './windows.ts';

/** What a row of the tree counts: all records of a tenant or a store from its first to its last day. */
export type CountedRow = Scope & {
  readonly count: number;
  readonly first_at: string | null;
  readonly last_at: string | null;
};

/** Records in at least one tagged window, and in those of each dataset. */
export type Coverage = { covered: number; training: number; fine_tuning: number };

/**
 * How many records of each row are tagged, exactly: from the counters of the same snapshot, which `db`
 * must stand in. One short statement when none of the tenants has tags.
 */
export async function readCoverage(
  db: Queryable,
  rows: readonly CountedRow[],
): Promise<Coverage[]> {
  const tags = await readTagsOf(db, [...new Set(rows.map(({ tenant }) => tenant))]);
  const plan = planCoverage(rows, tags);
  const sums = await sumRuns(
    db,
    plan.shares.map(({ run }) => run),
  );
  const coverage = plan.known.map((weight) => ({ ...weight }));
  for (const [i, { row, weight }] of plan.shares.entries()) {
    const own = coverage[row];
    if (own !== undefined) add(own, weight, sums[i]?.count ?? 0);
  }
  return coverage;
}

export type CoveragePlan = {
  /** What is known of each row without a look at counters. */
  readonly known: readonly Coverage[];
  /** Counters whose sums are to be added to a row, as often as the weight says. */
  readonly shares: readonly { row: number; run: CounterRun; weight: Weight }[];
};

/** Which counters tell the coverage of the rows: as few as will do. */
export function planCoverage(
  rows: readonly CountedRow[],
  tags: ReadonlyMap<string, TagWindows>,
): CoveragePlan {
  const stretches = new Map([...tags].map(([tenant, own]) => [tenant, toStretches(own)]));
  const known = rows.map(() => ({ covered: 0, training: 0, fine_tuning: 0 }));
  const planOf = rememberPlans();
  const shares = rows.flatMap((row, i) => {
    const own = stretches.get(row.tenant);
    const sum = known[i];
    const { tenant, store, first_at, last_at } = row;
    if (own === undefined || sum === undefined || first_at === null || last_at === null) return [];
    const days = { from: first_at.slice(0, 10), until: dayAfter(last_at.slice(0, 10)) };
    const plan = planOf(store === null ? own.ofAll : own.ofStore(store), days, store !== null);
    add(sum, plan.whole, row.count);
    const whole = plan.parts.map(({ table, from, until, weight }) => {
      return { row: i, run: { tenant, store, table, from, until }, weight };
    });
    if (store !== null || own.added.size === 0) return whole;
    return [
      ...whole,
      ...planStores(tenant, own.added, days).map((share) => ({ row: i, ...share })),
    ];
  });
  return { known, shares };
}

type Part = CounterSpan & { readonly weight: Weight };

/** How stretches tell on a row: as often as this all of its records, and what the counters of parts say. */
type RowPlan = { readonly whole: Weight; readonly parts: readonly Part[] };

/** Plans are the same for all rows of a page that begin and end on the same days: most of it. */
function rememberPlans() {
  const plans = new Map<readonly Stretch[], Map<string, RowPlan>>();
  return (stretches: readonly Stretch[], days: Span, isOfStore: boolean): RowPlan => {
    const own = plans.get(stretches) ?? new Map<string, RowPlan>();
    plans.set(stretches, own);
    const key = `${days.from} ${days.until} ${isOfStore}`;
    const plan = own.get(key) ?? planRow(clipStretches(stretches, days), days, isOfStore);
    own.set(key, plan);
    return plan;
  };
}

/** Reads the days of each stretch, or those of the row that are not in it when these are fewer. */
function planRow(stretches: readonly Stretch[], days: Span, isOfStore: boolean): RowPlan {
  const whole = { covered: 0, training: 0, fine_tuning: 0 };
  const parts = stretches.flatMap((stretch): Part[] => {
    const { weight, from, until } = stretch;
    const inside = spansOf(isOfStore, wholeMonths({ from, until }, days));
    const outside = [
      ...spansOf(isOfStore, wholeMonths({ from: days.from, until: from }, days)),
      ...spansOf(isOfStore, wholeMonths({ from: until, until: days.until }, days)),
    ];
    if (costOf(inside) <= costOf(outside)) return inside.map((span) => ({ ...span, weight }));
    add(whole, weight, 1);
    const negative = {
      covered: -weight.covered,
      training: -weight.training,
      fine_tuning: -weight.fine_tuning,
    };
    return outside.map((span) => ({ ...span, weight: negative }));
  });
  return { whole, parts };
}

/** What the tags of single stores add to the row of a tenant. */
function planStores(
  tenant: string,
  added: TenantStretches['added'],
  days: Span,
): { run: CounterRun; weight: Weight }[] {
  return [...added].flatMap(([store, stretches]) =>
    clipStretches(stretches, days).flatMap(({ weight, from, until }) =>
      runsOf({ tenant, store }, wholeMonths({ from, until }, days)).map((run) => ({ run, weight })),
    ),
  );
}

/**
 * Where a span reaches the first or the last day of a row, it may as well reach the end of that month: the
 * row has nothing there, and a month is one counter instead of thirty.
 */
function wholeMonths(span: Span, row: Span): Span {
  const { from, until } = span;
  if (from >= until) return span;
  return {
    from: from === row.from ? firstOfMonth(from) : from,
    until: until === row.until && until !== firstOfMonth(until) ? firstOfNextMonth(until) : until,
  };
}

function add(sum: Coverage, weight: Weight, count: number): void {
  sum.covered += weight.covered * count;
  sum.training += weight.training * count;
  sum.fine_tuning += weight.fine_tuning * count;
}

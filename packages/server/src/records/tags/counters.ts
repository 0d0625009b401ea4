import { firstOfMonth, firstOfNextMonth } from '../../kernel/day.ts';
import type { Span } from '../slice/slice.ts';

/** Whether a record counts as covered and in each dataset: 0 or 1. */
export type Weight = {
  readonly covered: number;
  readonly training: number;
  readonly fine_tuning: number;
};

export const untagged: Weight = { covered: 0, training: 0, fine_tuning: 0 };

/** The days of a tenant, or of one of its stores when `store` is not null. */
export type CounterScope = { readonly tenant: string; readonly store: string | null };

/** The counters of days and of months: of tenants, and of stores. */
const spanTables = {
  tenants: { days: 'tenant_days', months: 'tenant_months' },
  stores: { days: 'leaf_days', months: 'leaf_months' },
} as const;
export type SpanTable = (typeof spanTables)['tenants' | 'stores']['days' | 'months'];

/** Counters that follow one another, from a day to before another day. Those of months cover whole months. */
export type CounterSpan = Span & { readonly table: SpanTable };
export type CounterRun = CounterScope & CounterSpan;

/** Returns the counters of exactly a span: months where a whole one lies in it, and days for the rest. */
export function spansOf(isOfStore: boolean, { from, until }: Span): CounterSpan[] {
  if (from >= until) return [];
  const { days, months } = spanTables[isOfStore ? 'stores' : 'tenants'];
  const first = from === firstOfMonth(from) ? from : firstOfNextMonth(from);
  const end = firstOfMonth(until);
  if (first >= end) return [{ from, until, table: days }];
  const spans: CounterSpan[] = [{ from: first, until: end, table: months }];
  if (from < first) spans.unshift({ from, until: first, table: days });
  if (end < until) spans.push({ from: end, until, table: days });
  return spans;
}

/** Returns the same for the days of a given tenant or store. */
export function runsOf({ tenant, store }: CounterScope, span: Span): CounterRun[] {
  return spansOf(store !== null, span).map((own) => ({ tenant, store, ...own }));
}

import { daysBetween, firstOfMonth, firstOfNextMonth } from './calendar.ts';
import type { Span } from './windows.ts';

/** A tenant's days, or those of one of its stores. */
export type Scope = { readonly tenant: string; readonly store: string | null };

export type CounterTable = 'tenant_days' | 'leaf_months' | 'leaf_days';

/** Counters that follow each other, from a day to before another; of leaf_months in whole months. */
export type CounterSpan = Span & { readonly table: CounterTable };
export type CounterRun = Scope & CounterSpan;

/** The counters that hold exactly the records of a span: months of a store where whole ones are in it. */
export function spansOf(isOfStore: boolean, { from, until }: Span): CounterSpan[] {
  if (from >= until) return [];
  if (!isOfStore) return [{ from, until, table: 'tenant_days' }];
  const first = from === firstOfMonth(from) ? from : firstOfNextMonth(from);
  const end = firstOfMonth(until);
  if (first >= end) return [{ from, until, table: 'leaf_days' }];
  const spans: CounterSpan[] = [{ from: first, until: end, table: 'leaf_months' }];
  if (from < first) spans.unshift({ from, until: first, table: 'leaf_days' });
  if (end < until) spans.push({ from: end, until, table: 'leaf_days' });
  return spans;
}

/** The same of a tenant or a store. */
export function runsOf({ tenant, store }: Scope, span: Span): CounterRun[] {
  return spansOf(store !== null, span).map((own) => ({ tenant, store, ...own }));
}

/** About how many counters there are to read. */
export function costOf(spans: readonly CounterSpan[]): number {
  return spans.reduce((sum, { table, from, until }) => {
    const days = daysBetween(from, until);
    return sum + (table === 'leaf_months' ? days / 30 : days);
  }, 0);
}

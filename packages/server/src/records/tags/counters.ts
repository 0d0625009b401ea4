import { dayAfter, firstOfMonth, firstOfNextMonth } from '../../kernel/day.ts';
import type { Span } from '../slice/slice.ts';

/**
 * How often a record counts as covered and in each dataset. In a stretch each number is 0 or 1; in a plan that corrects
 * other counts it may be −1.
 */
export type Weight = {
  readonly covered: number;
  readonly training: number;
  readonly fine_tuning: number;
};

export const untagged: Weight = { covered: 0, training: 0, fine_tuning: 0 };

/** The days of a tenant, or of one of its stores when `store` is not null. */
export type CounterScope = { readonly tenant: string; readonly store: string | null };

/** The counters of days and of months: of tenants, and of stores. */
export const spanTables = {
  tenants: { days: 'tenant_days', months: 'tenant_months' },
  stores: { days: 'leaf_days', months: 'leaf_months' },
} as const;
export type SpanTable = (typeof spanTables)['tenants' | 'stores']['days' | 'months'];

/** Counters that follow one another, from a day to before another day. Those of months cover whole months. */
export type CounterSpan = Span & { readonly table: SpanTable };
export type CounterRun = CounterScope & CounterSpan;

/** Counters whose sum is to be added or subtracted. */
export type SignedSpan = CounterSpan & { readonly sign: 1 | -1 };

/**
 * Returns the counters that hold exactly the records of a span: months where a whole one lies in the span, and days for
 * the rest.
 */
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

/** Each day of the spans, as `YYYY-MM-DD`. */
export function daysOf(spans: readonly Span[]): string[] {
  return stepsOf(spans, dayAfter);
}

/** Each month of spans of whole months, as `YYYY-MM`, which is how counters name them. */
export function monthsOf(spans: readonly Span[]): string[] {
  return stepsOf(spans, firstOfNextMonth).map((day) => day.slice(0, 'YYYY-MM'.length));
}

function stepsOf(spans: readonly Span[], next: (day: string) => string): string[] {
  const steps: string[] = [];
  for (const { from, until } of spans) {
    for (let day = from; day < until; day = next(day)) steps.push(day);
  }
  return steps;
}

/**
 * Returns about how many days there are from one day to before another. It may be wrong by two for each month between
 * them.
 */
export function daysBetween(from: string, until: string): number {
  return dayNumber(until) - dayNumber(from);
}

function dayNumber(day: string): number {
  return (
    Number(day.slice(0, 4)) * 365 +
    Math.round(Number(day.slice(5, 7)) * 30.42) +
    Number(day.slice(8))
  );
}

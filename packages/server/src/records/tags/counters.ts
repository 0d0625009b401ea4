import type { Span } from './windows.ts';

/** A tenant's days, or those of one of its stores. */
export type Scope = { readonly tenant: string; readonly store: string | null };

export type CounterTable = 'tenant_days' | 'leaf_months' | 'leaf_days';

/** Counters that follow each other, from a day to before another; of leaf_months in whole months. */
export type CounterSpan = Span & { readonly table: CounterTable };
export type CounterRun = Scope & CounterSpan;

/** Counters that are to be added or taken away. */
export type SignedSpan = CounterSpan & { readonly sign: 1 | -1 };

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

/** Each day of the spans. */
export function daysOf(spans: readonly Span[]): string[] {
  return stepsOf(spans, dayAfter);
}

/** Each month of spans of whole months, as leaf_months names them. */
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

// Days are text, `YYYY-MM-DD`. A page of the tree asks for thousands of them: where text will do, no Date
// is made of it, which took ten times as long.

const dayMillis = 86_400_000;

export function dayAfter(day: string): string {
  const number = dayOfMonth(day);
  if (number < 28) return `${day.slice(0, 8)}${twoDigits(number + 1)}`;
  return new Date(Date.parse(day) + dayMillis).toISOString().slice(0, 10);
}

export function dayBefore(day: string): string {
  return new Date(Date.parse(day) - dayMillis).toISOString().slice(0, 10);
}

/** The first day of a day's month. */
export function firstOfMonth(day: string): string {
  return `${day.slice(0, 8)}01`;
}

export function firstOfNextMonth(day: string): string {
  const year = Number(day.slice(0, 4));
  const month = Number(day.slice(5, 7));
  return month === 12
    ? `${String(year + 1).padStart(4, '0')}-01-01`
    : `${day.slice(0, 5)}${twoDigits(month + 1)}-01`;
}

/** How many days there are from one to before another, two more or less for each month between them. */
export function daysBetween(from: string, until: string): number {
  return dayNumber(until) - dayNumber(from);
}

function dayNumber(day: string): number {
  return (
    Number(day.slice(0, 4)) * 365 + Math.round(Number(day.slice(5, 7)) * 30.42) + dayOfMonth(day)
  );
}

function dayOfMonth(day: string): number {
  return Number(day.slice(8));
}

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}

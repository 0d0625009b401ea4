import type { DayWindow } from '../slice/slice.ts';

/** Where a window that is open at one end begins or ends. No record can be older or younger. */
export const firstDay = '1970-01-01';
export const beyondLastDay = '9999-12-31';

export type Span = { readonly from: string; readonly until: string };

/**
 * Returns the same days in as few windows as possible. The windows of a store do not overlap or touch one another, and
 * do not repeat what is tagged for all stores. The windows of all stores come first, then those of each store; each
 * group is in the order of days.
 */
export function mergeWindows(windows: readonly DayWindow[]): DayWindow[] {
  const byStore = new Map<string | null, Span[]>();
  for (const { store, from, until } of windows) {
    const spans = byStore.get(store) ?? [];
    spans.push({ from, until });
    byStore.set(store, spans);
  }
  const ofAll = mergeSpans(byStore.get(null) ?? []);
  byStore.delete(null);
  const stores = [...byStore].sort(([a], [b]) =>
    Buffer.compare(Buffer.from(a ?? ''), Buffer.from(b ?? '')),
  );
  return [
    ...ofAll.map((span) => ({ store: null, ...span })),
    ...stores.flatMap(([store, spans]) =>
      subtractSpans(mergeSpans(spans), ofAll).map((span) => ({ store, ...span })),
    ),
  ];
}

/** Returns spans in order, none of which overlap or touch. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    const before = merged.at(-1);
    if (before !== undefined && span.from <= before.until) {
      const until = span.until > before.until ? span.until : before.until;
      merged[merged.length - 1] = { from: before.from, until };
    } else {
      merged.push({ from: span.from, until: span.until });
    }
  }
  return merged;
}

/** Returns what lies in merged spans but in none of the others, which must be merged too. */
export function subtractSpans(spans: readonly Span[], others: readonly Span[]): Span[] {
  return spans.flatMap((span) => {
    const left: Span[] = [];
    let { from } = span;
    for (const other of others) {
      if (other.until <= from || other.from >= span.until) continue;
      if (other.from > from) left.push({ from, until: other.from });
      from = other.until;
    }
    if (from < span.until) left.push({ from, until: span.until });
    return left;
  });
}

import { compareText } from '../../kernel/names.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { DayWindow, Slice, Span, TagWindows } from '../slice/slice.ts';
import type { DatasetName } from '../values.ts';
import { listTaggedDays } from './queries.ts';

/**
 * Returns the same days in as few windows as possible: those of all stores first, then what each store adds, in the
 * order of days, without overlaps.
 */
export function mergeWindows(windows: readonly DayWindow[]): DayWindow[] {
  const spans = spansByStore(windows);
  const ofAll = mergeSpans(spans.get(null) ?? []);
  // No store has an empty name.
  return [...spans.keys()]
    .sort((a, b) => compareText(a ?? '', b ?? ''))
    .flatMap((store) => {
      const own = mergeSpans(spans.get(store) ?? []);
      const left = store === null ? own : subtractSpans(own, ofAll);
      return left.map((span) => ({ store, ...span }));
    });
}

/** Returns the days of the windows by their stores; null stands for all stores. */
export function spansByStore(windows: readonly DayWindow[]): Map<string | null, Span[]> {
  const spans = new Map<string | null, Span[]>();
  for (const { store, from, until } of windows) {
    const own = spans.get(store) ?? [];
    own.push({ from, until });
    spans.set(store, own);
  }
  return spans;
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

/** Returns the tagged days of a tenant as they are now, or as they are in the snapshot of `db`. */
export async function readTagWindows(db: Queryable, tenant: string): Promise<TagWindows> {
  return (await readTagsOf(db, [tenant])).get(tenant) ?? { training: [], fine_tuning: [] };
}

/** Returns the tagged days of these tenants. Tenants without tags are not in the result. */
export async function readTagsOf(
  db: Queryable,
  tenants: readonly string[],
): Promise<Map<string, TagWindows>> {
  const tags = new Map<string, Record<DatasetName, DayWindow[]>>();
  for (const { tenant, dataset, ...window } of await listTaggedDays(db, tenants)) {
    const own = tags.get(tenant) ?? { training: [], fine_tuning: [] };
    own[dataset].push(window);
    tags.set(tenant, own);
  }
  return new Map(
    Array.from(tags, ([tenant, { training, fine_tuning }]) => [
      tenant,
      { training: mergeWindows(training), fine_tuning: mergeWindows(fine_tuning) },
    ]),
  );
}

/** Adds the tags that a slice's dataset means. One without a dataset, or with pinned tags, is returned as it is. */
export async function withTags(db: Queryable, slice: Slice): Promise<Slice> {
  const { tenant, dataset, tags } = slice;
  if (dataset === undefined || tenant === undefined || tags !== undefined) return slice;
  return { ...slice, tags: await readTagWindows(db, tenant) };
}

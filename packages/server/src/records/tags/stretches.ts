import type { Span, TagWindows } from '../slice/slice.ts';
import { datasetNames } from '../values.ts';
import { untagged, type Weight } from './counters.ts';
import { mergeSpans, spansByStore, subtractSpans } from './windows.ts';

/** Days on which all records count in the same way, from `from` to before `until`. */
type WeightedSpan = Span & { readonly weight: Weight };

/** What the tags of a tenant say about its days, as stretches in order that do not overlap. */
export type TenantStretches = {
  /** For the days of one store, from all tags together; null: what tags of all stores say of all. */
  of(store: string | null): readonly WeightedSpan[];
  /** What the tags of single stores add to those of all, by store. */
  readonly added: ReadonlyMap<string, readonly WeightedSpan[]>;
};

/** Turns tags into stretches. What tags of a store and of all cover counts once, so `added` leaves that out. */
export function toStretches({ training, fine_tuning }: TagWindows): TenantStretches {
  const trained = spansByStore(training);
  const tuned = spansByStore(fine_tuning);
  const all = weightedSpans(trained.get(null) ?? [], tuned.get(null) ?? []);
  const ofAll = stretchesOf(all);
  const stores = new Set([...trained.keys(), ...tuned.keys()].filter((name) => name !== null));
  const ofStore = new Map<string, readonly WeightedSpan[]>();
  const added = new Map<string, readonly WeightedSpan[]>();
  for (const store of stores) {
    const own = weightedSpans(trained.get(store) ?? [], tuned.get(store) ?? []);
    added.set(store, stretchesOf({ ...own, covered: subtractSpans(own.covered, all.covered) }));
    ofStore.set(
      store,
      stretchesOf({
        covered: mergeSpans([...all.covered, ...own.covered]),
        training: mergeSpans([...all.training, ...own.training]),
        fine_tuning: mergeSpans([...all.fine_tuning, ...own.fine_tuning]),
      }),
    );
  }
  return { added, of: (store) => (store === null ? ofAll : (ofStore.get(store) ?? ofAll)) };
}

/** Returns the parts of stretches that lie in a span. */
export function clipStretches(
  stretches: readonly WeightedSpan[],
  { from, until }: Span,
): WeightedSpan[] {
  return stretches
    .filter((stretch) => stretch.from < until && stretch.until > from)
    .map((stretch) => ({
      from: stretch.from > from ? stretch.from : from,
      until: stretch.until < until ? stretch.until : until,
      weight: stretch.weight,
    }));
}

type WeightedSpans = Readonly<Record<keyof Weight, readonly Span[]>>;

function weightedSpans(training: readonly Span[], fine_tuning: readonly Span[]): WeightedSpans {
  return { covered: mergeSpans([...training, ...fine_tuning]), training, fine_tuning };
}

const kinds = ['covered', ...datasetNames] as const;

/** Cuts merged spans wherever one of them begins or ends. */
function stretchesOf(spans: WeightedSpans): WeightedSpan[] {
  const changes = kinds
    .flatMap((kind) =>
      spans[kind].flatMap(({ from, until }) => [
        { day: from, kind, by: 1 },
        { day: until, kind, by: -1 },
      ]),
    )
    .sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
  const stretches: WeightedSpan[] = [];
  const weight = { ...untagged };
  let from = '';
  for (const { day, kind, by } of changes) {
    if (day > from && kinds.some((one) => weight[one] > 0)) {
      stretches.push({ from, until: day, weight: { ...weight } });
    }
    from = day;
    weight[kind] += by;
  }
  return stretches;
}

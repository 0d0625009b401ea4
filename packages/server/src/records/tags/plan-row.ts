import { firstOfMonth, firstOfNextMonth } from '../../kernel/day.ts';
import type { Span } from '../slice/slice.ts';
import {
  type CounterSpan,
  daysBetween,
  spansOf,
  spanTables,
  untagged,
  type Weight,
} from './counters.ts';
import { clipStretches, type WeightedSpan } from './stretches.ts';

/**
 * How the coverage of a row is computed: all its records count with the weight `whole`, and the counters of `parts` are
 * added with their weights.
 */
export type RowPlan = { readonly whole: Weight; readonly parts: readonly WeightedCounters[] };
type WeightedCounters = { readonly run: CounterSpan; readonly weight: Weight };

/**
 * Lets all records of a row count as most of its months do, and all records of a month as most of its days do; then it
 * corrects what differs with counters. In this way at most half of the days of a month that a window cuts are read.
 * `whole` instead prescribes how all records of the row count, as is needed for a row that also has records of other
 * stores.
 */
export function planRow(
  stretches: readonly WeightedSpan[],
  days: Span,
  { isOfStore, whole }: { isOfStore: boolean; whole?: Weight },
): RowPlan {
  const tables = spanTables[isOfStore ? 'stores' : 'tenants'];
  const pieces = toPieces(clipStretches(stretches, days), days);
  const months: WeightedSpan[] = [];
  const cut = new Map<string, WeightedSpan[]>();
  for (const { weight, ...piece } of pieces) {
    for (const { table, from, until } of spansOf(isOfStore, piece)) {
      if (table === tables.months) months.push({ from, until, weight });
      else addCut(cut, { from, until, weight });
    }
  }
  const inMonths = [...cut].map(([from, own]) => {
    const { whole: weight, parts } = planPieces(own, tables.days);
    return { month: { from, until: firstOfNextMonth(from), weight }, parts };
  });
  const plan = planPieces([...months, ...inMonths.map(({ month }) => month)], tables.months, whole);
  return { whole: plan.whole, parts: [...plan.parts, ...inMonths.flatMap(({ parts }) => parts)] };
}

/**
 * Returns the stretches and the days between them. The first and the last month of the row are taken as whole months:
 * there are no records on the added days, and a month is one counter instead of thirty.
 */
function toPieces(stretches: readonly WeightedSpan[], row: Span): WeightedSpan[] {
  const pieces: WeightedSpan[] = [];
  let day = row.from;
  for (const stretch of stretches) {
    if (stretch.from > day) pieces.push({ from: day, until: stretch.from, weight: untagged });
    pieces.push(stretch);
    day = stretch.until;
  }
  if (day < row.until) pieces.push({ from: day, until: row.until, weight: untagged });
  const isEnd = row.until === firstOfMonth(row.until);
  const until = isEnd ? row.until : firstOfNextMonth(row.until);
  return pieces.map((piece) => ({
    from: piece.from === row.from ? firstOfMonth(row.from) : piece.from,
    until: piece.until === row.until ? until : piece.until,
    weight: piece.weight,
  }));
}

function planPieces(
  pieces: readonly WeightedSpan[],
  table: CounterSpan['table'],
  whole = mostOf(pieces),
): RowPlan {
  const parts = pieces
    .filter(({ weight }) => !isSameWeight(weight, whole))
    .map(({ from, until, weight }) => ({
      run: { table, from, until },
      weight: {
        covered: weight.covered - whole.covered,
        training: weight.training - whole.training,
        fine_tuning: weight.fine_tuning - whole.fine_tuning,
      },
    }));
  return { whole, parts };
}

/** Returns the weight that most days have. */
function mostOf(pieces: readonly WeightedSpan[]): Weight {
  const sizes: { weight: Weight; days: number }[] = [{ weight: untagged, days: 0 }];
  for (const { weight, from, until } of pieces) {
    const own = sizes.find((size) => isSameWeight(size.weight, weight));
    const days = daysBetween(from, until);
    if (own === undefined) sizes.push({ weight, days });
    else own.days += days;
  }
  return sizes.reduce((most, size) => (size.days > most.days ? size : most)).weight;
}

export function isSameWeight(a: Weight, b: Weight): boolean {
  return a.covered === b.covered && a.training === b.training && a.fine_tuning === b.fine_tuning;
}

/** Adds days that hold no whole month to the months they lie in. They lie in one month or in two. */
function addCut(cut: Map<string, WeightedSpan[]>, { from, until, weight }: WeightedSpan): void {
  const end = firstOfNextMonth(from);
  const month = firstOfMonth(from);
  const own = cut.get(month) ?? [];
  own.push({ from, until: until < end ? until : end, weight });
  cut.set(month, own);
  if (until > end) addCut(cut, { from: end, until, weight });
}

const mostInner = 16;

type Numbers = readonly number[] | Float64Array;

/** Returns the quantile of sorted numbers, between two of them where it lies between them. NaN when there are none. */
export function quantileOf(sorted: Numbers, share: number): number {
  const at = Math.min(1, Math.max(0, share)) * (sorted.length - 1);
  const [low = Number.NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  // Halves first: the difference of two doubles may be none.
  return low === high ? low : low * (1 - (at % 1)) + high * (at % 1);
}

/**
 * Returns the edges of at most 20 buckets for sorted numbers. They are round, and lie where nearly all numbers do; what
 * is beyond 1 % and 99 % has a bucket of its own at each end, so that one outlier does not hide the others.
 */
export function edgesOf(sorted: Numbers): number[] {
  const [min = 0, max = min] = [sorted[0], sorted.at(-1)];
  if (min === max) return [min, max];
  let [low, high] = [quantileOf(sorted, 0.01), quantileOf(sorted, 0.99)];
  if (low === high) [low, high] = [min, max];
  const step = stepOf(
    (high - low) / mostInner,
    sorted.every((value) => Number.isInteger(value)),
  );
  const first = Math.floor(low / step);
  if (!Number.isFinite(step) || !Number.isSafeInteger(first)) return [min, max];
  const edges: number[] = [];
  for (let n = first; edges.length <= mostInner + 2; n += 1) {
    const edge = Number((n * step).toPrecision(12));
    edges.push(edge);
    if (edge > high) break;
  }
  const inner = edges.filter((edge) => edge > min && edge < max);
  return [min, ...inner, max];
}

/** The smallest of 1, 2, 5, 10, 20 … (or of their fractions) that is no smaller than this. */
function stepOf(least: number, isWhole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10;
  return isWhole ? Math.max(1, step * power) : step * power;
}

/** Returns the number of the bucket between two edges in which a number lies. */
export function bucketOf(edges: readonly number[], value: number): number {
  let [low, high] = [0, Math.max(0, edges.length - 2)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((edges[middle] ?? Infinity) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

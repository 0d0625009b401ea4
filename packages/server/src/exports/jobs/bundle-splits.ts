import type { Slice } from '../../records/index.ts';
import { type SplitName, splitNames } from '../../records/values.ts';
import type { StoredJob } from './job.ts';
import type { PartRow } from './queries.ts';

/** The splits of a version that have shares; null is all of it, where it has none. */
export function splitsOf({
  shares,
}: Pick<NonNullable<StoredJob['version']>, 'shares'>): readonly (SplitName | null)[] {
  return shares === null ? [null] : splitNames.filter((name) => shares[name] > 0);
}

/** The records of a part. A bundle has the parts of its version once for each split, one split after the other. */
export function sliceOfPart(
  { options, slice, version, parts_total: total }: StoredJob,
  { number, range }: Pick<PartRow, 'number' | 'range'>,
): Slice {
  if (options.format !== 'bundle' || version === null) return { ...slice, range };
  const splits = splitsOf(version);
  const split = splits[Math.floor(((number - 1) * splits.length) / (total ?? 1))];
  return { ...slice, range, split: split ?? undefined };
}

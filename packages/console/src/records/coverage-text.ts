import { formatCount } from '../ui/format.ts';

export type Coverage = {
  readonly count: number;
  readonly covered: number;
  readonly by_dataset: { readonly training: number; readonly fine_tuning: number };
};

/** Records in both datasets: each counts once in `covered`. */
export function countInBoth({ covered, by_dataset }: Coverage): number {
  return Math.max(0, by_dataset.training + by_dataset.fine_tuning - covered);
}

/** 123 of 41,022 covered, training 100, fine-tuning 40, in both 17 */
export function coverageText(coverage: Coverage): string {
  const { count, covered, by_dataset } = coverage;
  if (count === 0) return 'no records';
  const parts = [`${formatCount(covered)} of ${formatCount(count)} covered`];
  if (covered > 0) {
    parts.push(`training ${formatCount(by_dataset.training)}`);
    parts.push(`fine-tuning ${formatCount(by_dataset.fine_tuning)}`);
    parts.push(`in both ${formatCount(countInBoth(coverage))}`);
  }
  return parts.join(', ');
}

/** Three stretches of a bar, from its start: in training only, in both, in fine-tuning only. */
export type CoverageParts = {
  readonly training: number;
  readonly both: number;
  readonly fine: number;
};

/**
 * Lengths for a bar of this width. A few records are still a visible line, and the bar is full only
 * when the coverage is.
 */
export function coverageParts(coverage: Coverage, width: number): CoverageParts {
  const { count, covered, by_dataset } = coverage;
  if (count === 0 || covered === 0) return { training: 0, both: 0, fine: 0 };
  const least = width / 24;
  const counts = [
    covered - by_dataset.fine_tuning,
    countInBoth(coverage),
    covered - by_dataset.training,
  ];
  const lengths = counts.map((part) => (part <= 0 ? 0 : Math.max(least, (width * part) / count)));
  const sum = lengths.reduce((total, length) => total + length, 0);
  const most = covered === count ? width : width - least;
  const scale = sum > most || covered === count ? most / (sum || 1) : 1;
  const [training = 0, both = 0, fine = 0] = lengths.map((length) => length * scale);
  return { training, both, fine };
}

import type { ReactNode } from 'react';
import { formatCount, formatShare } from '../ui/format.ts';
import classes from './coverage.module.css';

const width = 24;

/** Coverage as a percentage and a bar of two overlapping tones; without coverage the bar is a hairline. */
export function CoverageBar({ of }: { of: Coverage & { coverage: number | null } }): ReactNode {
  const { training, both, fine } = coverageParts(of, width);
  const isNone = of.covered === 0;
  const text = coverageText(of);
  return (
    <span className={`gap-6 ${classes.coverage}`} title={text}>
      <svg className={classes.bar} viewBox="0 0 24 4" preserveAspectRatio="none" aria-hidden="true">
        <rect
          className={classes.track}
          y={isNone ? 1.5 : 0}
          width={width}
          height={isNone ? 1 : 4}
        />
        <rect className={classes.training} width={training} height="4" />
        <rect className={classes.training} x={training} width={both} height="2" />
        <rect className={classes.fine} x={training} y="2" width={both} height="2" />
        <rect className={classes.fine} x={training + both} width={fine} height="4" />
      </svg>
      <span className="nowrap right">
        {formatShare(of.coverage)}
        <span className="visually-hidden"> covered: {text}</span>
      </span>
    </span>
  );
}

type Coverage = {
  readonly count: number;
  readonly covered: number;
  readonly by_dataset: { readonly training: number; readonly fine_tuning: number };
};

/** The number of records in both datasets: each counts only once in `covered`. */
function countInBoth({ covered, by_dataset }: Coverage): number {
  return Math.max(0, by_dataset.training + by_dataset.fine_tuning - covered);
}

/** Coverage in words: `123 of 41,022 covered, training 100, fine-tuning 40, in both 17`. */
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

/** The lengths of three stretches of a bar, from its start: in training only, in both, in fine-tuning only. */
type CoverageParts = { readonly training: number; readonly both: number; readonly fine: number };

/** The stretches of a bar of this width. A few records give a visible line, and only all of them a full bar. */
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

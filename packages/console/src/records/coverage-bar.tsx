import type { ReactNode } from 'react';
import { formatShare } from '../ui/format.ts';
import classes from './coverage-bar.module.css';
import { type Coverage, coverageParts, coverageText } from './coverage-text.ts';

const width = 24;

/**
 * Share of records in a tagged slice, as a word and a bar of two tones: training, then what is in both
 * (the one over the other), then fine-tuning. Nothing covered is a hairline.
 */
export function CoverageBar({ of }: { of: Coverage & { coverage: number | null } }): ReactNode {
  const { training, both, fine } = coverageParts(of, width);
  const isNone = of.covered === 0;
  const text = coverageText(of);
  return (
    <span className={classes.coverage} title={text}>
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
      <span className={classes.share}>
        {formatShare(of.coverage)}
        <span className="visually-hidden"> covered: {text}</span>
      </span>
    </span>
  );
}

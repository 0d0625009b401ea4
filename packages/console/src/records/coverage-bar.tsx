import type { ReactNode } from 'react';
import { formatShare } from '../ui/format.ts';
import classes from './coverage-bar.module.css';

/** Share of records in a tagged slice, as a word and a bar. */
export function CoverageBar({ coverage }: { coverage: number | null }): ReactNode {
  return (
    <span className={classes.coverage}>
      <svg className={classes.bar} viewBox="0 0 32 4" preserveAspectRatio="none" aria-hidden="true">
        <rect className={classes.track} width="32" height="4" />
        <rect className={classes.covered} width={32 * (coverage ?? 0)} height="4" />
      </svg>
      <span className={classes.share}>
        {formatShare(coverage)}
        <span className="visually-hidden"> covered</span>
      </span>
    </span>
  );
}

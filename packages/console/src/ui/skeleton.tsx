import type { ReactNode } from 'react';
import classes from './controls.module.css';

/** Rows of the size of the table to come, so that nothing moves when it does. */
export function SkeletonRows({ rows, label }: { rows: number; label: string }): ReactNode {
  return (
    <div role="status" aria-label={label} className={classes.skeletonRows}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike and never move
        <div key={row} className={classes.skeletonRow}>
          <SkeletonText width={`${42 + ((row * 29) % 40)}%`} />
        </div>
      ))}
    </div>
  );
}

/** A line of text to come. */
export function SkeletonText({ width = '100%' }: { width?: string }): ReactNode {
  return <span className={classes.skeletonText} style={{ width }} aria-hidden="true" />;
}

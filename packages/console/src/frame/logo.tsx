import type { ReactNode } from 'react';
import classes from './frame.module.css';

export function Logo(): ReactNode {
  return (
    <span className={`inline-row gap-8 bold ${classes.logo}`}>
      <svg width="18" height="18" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        <rect width="16" height="16" rx="3" className={classes.logoGround} />
        <path d="M4 5h8M4 8h5M4 11h7" className={classes.logoLines} />
      </svg>
      svcctl
    </span>
  );
}

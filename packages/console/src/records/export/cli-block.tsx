import type { ReactNode } from 'react';
import { CopyButton } from '../../ui/copy-button.tsx';
import classes from './cli-block.module.css';

/** A command line to copy, under what it does. */
export function CliBlock({ title, line }: { title: string; line: string }): ReactNode {
  return (
    <section className={classes.line} aria-label={title}>
      <header>
        <span>{title}</span>
        <CopyButton value={line} label="Copy command" />
      </header>
      <code>{line}</code>
    </section>
  );
}

import type { ReactNode } from 'react';
import classes from './cli-block.module.css';
import { CopyButton } from './copy-button.tsx';

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

/** A command line that a POSIX shell reads back as exactly these words. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}

function shellWord(word: string): string {
  if (/^[A-Za-z0-9_./:=,@%+-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { ReactNode } from 'react';
import classes from './cli-block.module.css';
import { CheckIcon, CopyIcon } from './icons.tsx';

/** A button that copies a value. The label says what it copies: "Copy event id". */
export function CopyButton({ value, label }: { value: string; label: string }): ReactNode {
  const { copied, copy, error } = useClipboard({ timeout: 1500 });
  const text = error !== null ? 'The browser refused to copy' : copied ? 'Copied' : label;
  return (
    <Tooltip label={text}>
      <ActionIcon aria-label={label} size={24} onClick={() => copy(value)}>
        {copied ? <CheckIcon /> : <CopyIcon />}
        <span className="visually-hidden" role="status">
          {copied ? 'Copied' : ''}
        </span>
      </ActionIcon>
    </Tooltip>
  );
}

/** A button in words that copies what `value` makes when it is pressed. */
export function CopyText({ label, value }: { label: string; value: () => string }): ReactNode {
  const { copied, copy } = useClipboard({ timeout: 1500 });
  return (
    <Button size="compact-xs" onClick={() => copy(value())}>
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </Button>
  );
}

/** A text to be copied, with its button. A secret is a paragraph of its own. */
export function Copied(props: { text: string; label?: string; isSecret?: boolean }): ReactNode {
  const { text, label = 'Copy command', isSecret = false } = props;
  return (
    <div className={isSecret ? 'copied break above-12 below-16' : 'copied'}>
      <code>{text}</code>
      <CopyButton value={text} label={label} />
    </div>
  );
}

/** A command line that can be copied, below a title that says what it does. */
export function CliBlock({ title, line }: { title: string; line: string }): ReactNode {
  return (
    <section className={`box ${classes.line}`} aria-label={title}>
      <header>
        <span>{title}</span>
        <CopyButton value={line} label="Copy command" />
      </header>
      <code>{line}</code>
    </section>
  );
}

/** Lets the browser store a text as a file. */
export function download(file: { name: string; text: string; type: string }): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([file.text], { type: file.type }));
  link.download = file.name;
  link.click();
  // The browser has begun to read the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

import type { ReactNode } from 'react';
import { visibleText } from './format.ts';

/** Text of others in a cell that may cut it: whole on hover, and never written in another direction. */
export function CutText({ text }: { text: string }): ReactNode {
  const shown = visibleText(text);
  return <span title={shown}>{shown}</span>;
}

import type { Io, TextStream } from './io.ts';

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39] } as const;
export type Style = keyof typeof codes;

/** Colours a text for a stream: not in pipes, not under NO_COLOR (no-color.org), not on a dumb terminal. */
export function styled(io: Io, stream: TextStream, style: Style, text: string): string {
  const isPlain = stream.isTTY !== true || Boolean(io.env.NO_COLOR) || io.env.TERM === 'dumb';
  if (isPlain) return text;
  const [on, off] = codes[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}

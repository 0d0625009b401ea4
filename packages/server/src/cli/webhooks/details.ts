import type { Context } from '../context.ts';
import { styled } from '../io.ts';
import { type JsonOption, printObject } from '../output.ts';
import { printable } from '../table.ts';

/** Prints one thing: in words on a terminal, as JSON with --json and in a pipe. */
export async function printDetails(
  context: Context,
  object: string,
  output: {
    json: JsonOption;
    fields: readonly string[];
    lines: () => readonly string[];
  },
): Promise<void> {
  if (output.json !== undefined || !context.isTerminal) {
    await printObject(context, object, output);
    return;
  }
  await context.out.write(`${output.lines().join('\n')}\n`);
}

/** `name   value` lines with the values aligned. */
export function nameValueLines(
  context: Context,
  rows: readonly (readonly [string, string | null])[],
): string[] {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(
    ([name, value]) =>
      styled(context.io, context.io.stdout, 'dim', name.padEnd(width)) + printable(value ?? '–'),
  );
}

/** The heading of a section. */
export function heading(context: Context, text: string): string {
  return styled(context.io, context.io.stdout, 'bold', text);
}

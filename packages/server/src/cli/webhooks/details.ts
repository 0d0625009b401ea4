import type { RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { formatCount, formatInstant } from '../format.ts';
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

type IncidentReceipt = RouteAnswer<'POST /incidents/:id/erase'>;

/** What an erasure takes of incidents. */
export function incidentRows(erased: IncidentReceipt['erased'] | null): [string, string][] {
  // A service of an earlier release does not say.
  if (erased == null) return [];
  return [
    ['incidents', formatCount(erased.count)],
    ['deliveries cancelled', formatCount(erased.cancelled)],
    ['answers removed', formatCount(erased.answers)],
    ['keys removed', formatCount(erased.keys)],
  ];
}

/** What an erasure leaves behind, and until when. */
export function remainRows(remains: IncidentReceipt['remains']): [string, string][] {
  return remains.map(({ what, until, note }) => [
    `remains (${what})`,
    until === null ? note : `until ${formatInstant(until)} UTC: ${note}`,
  ]);
}

import { indentJson, membersOf } from '../kernel/json-slices.ts';
import type { Route, RouteInput } from './client.ts';
import type { Context } from './context.ts';
import { formatInstant, formatRelative, localFormat } from './format.ts';
import { usage } from './help.ts';
import { styled } from './io.ts';
import { type JsonOption, printObject } from './output.ts';
import { printable } from './table.ts';

/** `name  value` pairs; a null is shown as –. */
export type Facts = readonly (readonly [name: string, value: string | null])[];

/** The input of a route with one parameter in its path. */
export function inputOf<R extends Route>(route: R, argument: string, body?: object): RouteInput<R> {
  const [, name = ''] = /:(\w+)/.exec(route) ?? [];
  return { params: { [name]: argument }, body } as unknown as RouteInput<R>;
}

/** Prints one thing: in words on a terminal, as JSON with --json and in a pipe. */
export async function printDetails(
  context: Context,
  object: string,
  output: {
    json: JsonOption;
    local?: true | undefined;
    lines: () => readonly string[];
  },
): Promise<void> {
  const isForPrograms = output.json !== undefined || !context.isTerminal;
  if (output.local && isForPrograms) {
    throw usage('--local is for what is told in words: on a terminal, without --json.');
  }
  if (isForPrograms) {
    await printObject(context, object, output.json);
    return;
  }
  const lines = output.lines();
  const shown = output.local ? lines.map(toLocalTime(context)) : lines;
  await context.out.write(`${shown.join('\n')}\n`);
}

/** Tells what begins a line, or is called UTC, in the zone of the machine; lines of JSON stay as they are. */
function toLocalTime({ io }: Context): (line: string) => string {
  const { zone, format } = localFormat(io.env);
  return (line) =>
    /^ *["[{]/.test(line)
      ? line
      : line
          .replace('(UTC)', `(${zone})`)
          .replace(
            /(^ *(?:\d+ +)?)?(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)( UTC)?/g,
            (all, start: string | undefined, day: string, time: string, utc?: string) =>
              start === undefined && utc === undefined
                ? all
                : `${start ?? ''}${format(`${day}T${time}Z`)}`,
          );
}

/** `name   value` lines with the values aligned. */
export function factLines(context: Context, facts: Facts): string[] {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return facts.map(
    ([name, value]) =>
      styled(context.io, context.io.stdout, 'dim', name.padEnd(width)) + printable(value ?? '–'),
  );
}

/** The heading of a section, below an empty line. */
export function section(context: Context, title: string, lines: readonly string[]): string[] {
  return ['', styled(context.io, context.io.stdout, 'bold', title), ...lines];
}

/** A member of an answer as indented JSON, with its numbers as they were written. */
export function jsonLines(answer: string, name: string): string[] {
  return indentJson(membersOf(answer).get(name) ?? 'null')
    .split('\n')
    .map(printable);
}

/** A moment in full: `2001-03-01 00:05:00 UTC`. */
export function utc(instant: string): string {
  return `${formatInstant(instant)} UTC`;
}

/** A moment in full, and how far it is from now; null for null. */
export function moment(instant: string | null, nowMillis: number): string | null {
  return instant === null ? null : `${utc(instant)}, ${formatRelative(instant, nowMillis)}`;
}

/** A fact that is told only where there is something to tell. */
export function whereAny(name: string, value: string | null | undefined): Facts {
  return value == null ? [] : [[name, value]];
}

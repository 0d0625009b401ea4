import { membersOf } from '../kernel/json-items.ts';
import { indentJson } from '../kernel/json-slices.ts';
import type { Route, RouteInput } from './client.ts';
import type { Context } from './context.ts';
import { formatInstant, formatRelative, localFormat } from './format.ts';
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
  output: { json: JsonOption; lines: () => readonly string[] },
): Promise<void> {
  if (output.json !== undefined || !context.isTerminal) {
    await printObject(context, object, output.json);
    return;
  }
  await context.out.write(`${output.lines().join('\n')}\n`);
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

/** How moments are told: how far from now they are, and in which zone they stand. */
export type Times = {
  readonly nowMillis: number;
  /** What the title of a section calls the zone. */
  readonly zone: string;
  /** A moment below such a title. */
  readonly below: (instant: string) => string;
  /** A moment in full. */
  readonly at: (instant: string) => string;
};

/** Tells moments in UTC, or in the zone of the machine. */
export function timesOf({ io }: Context, isLocal = false): Times {
  const nowMillis = io.now();
  if (!isLocal) return { nowMillis, zone: 'UTC', below: formatInstant, at: utc };
  const { zone, format } = localFormat(io.env);
  return { nowMillis, zone, below: format, at: format };
}

/** A moment in full: `2001-03-01 00:05:00 UTC`. */
export function utc(instant: string): string {
  return `${formatInstant(instant)} UTC`;
}

/** A moment in full, and how far it is from now; null for null. */
export function moment(instant: string | null, { at, nowMillis }: Times): string | null {
  return instant === null ? null : `${at(instant)}, ${formatRelative(instant, nowMillis)}`;
}

/** A fact that is told only where there is something to tell. */
export function whereAny(name: string, value: string | null | undefined): Facts {
  return value == null ? [] : [[name, value]];
}

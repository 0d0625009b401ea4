import { indentJson, membersOf } from '../kernel/json-slices.ts';
import type { Client, Route, RouteAnswer, RouteInput, RouteQuery } from './client.ts';
import type { Context } from './context.ts';
import { fieldsOf } from './fields.ts';
import { formatInstant, formatRelative } from './format.ts';
import { styled } from './io.ts';
import { type JsonOption, printObject } from './output.ts';
import { parseAnswer } from './parse-answer.ts';
import { printable } from './table.ts';
import { jsonOption, type Verb } from './verb.ts';

/** `name  value` pairs; a null is shown as –. */
export type Facts = readonly (readonly [name: string, value: string | null])[];

/** Describes a command that shows one thing, which its argument names: in words on a terminal, else as JSON. */
export function show<R extends Route & `GET ${string}/:${string}`, Given extends object = object>(
  route: R,
  view: Omit<Verb, 'act' | 'argument'> & {
    argument: NonNullable<Verb['argument']>;
    /** What is asked for beside the id. */
    query?: RouteQuery<R>;
    /** Waits for what the options ask for; answers whether the row has to be read again after that. */
    before?: (
      context: Context,
      client: Client,
      row: RouteAnswer<R>,
      options: Given,
    ) => Promise<boolean>;
    facts: (row: RouteAnswer<R>, nowMillis: number) => Facts;
    /** Lines below the facts, such as a section with a heading. `text` is what the service answered. */
    more?: (row: RouteAnswer<R>, text: string, context: Context) => readonly string[];
    /** What to do next. */
    next?: (row: RouteAnswer<R>, argument: string) => string | null;
  },
): Verb {
  const { before, facts, more, next, query, options = [], ...words } = view;
  return {
    ...words,
    options: [...options, jsonOption],
    async act(context: Context, given: Given & { json?: JsonOption }, argument: string) {
      const { json } = given;
      const fields = await fieldsOf(json, route);
      const client = await context.connect();
      const input = { ...inputOf(route, argument), ...(query && { query }) };
      const read = () => client.text(route, input);
      let text = await read();
      const row = () => parseAnswer(text) as RouteAnswer<R>;
      if (await before?.(context, client, row(), given)) text = await read();
      const lines = () => [
        ...factLines(context, facts(row(), context.io.now())),
        ...(more?.(row(), text, context) ?? []),
      ];
      await printDetails(context, text, { json, fields, lines });
      if (json !== undefined || !context.isTerminal) return;
      const hint = next?.(row(), argument) ?? null;
      if (hint !== null) context.hint(hint);
    },
  };
}

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

/** The same of an answer that was parsed, with facts as its words. */
export function printFacts(
  context: Context,
  answer: object,
  { json, facts }: { json: true | undefined; facts: () => Facts },
): Promise<void> {
  const lines = () => factLines(context, facts());
  return printDetails(context, JSON.stringify(answer), { json, fields: [], lines });
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

import { type Command, Option } from 'commander';
import { type Filters, tenantFilter } from '../kernel/view.ts';
import type { Context } from './context.ts';

/**
 * An option: its flags, what the help says of it, and, unless its value is any text, the words that it may be or the
 * function that reads it. What says more about itself is given as commander takes it.
 */
export type OptionRow =
  | Option
  | readonly [flags: string, help: string]
  | readonly [flags: string, help: string, value: readonly string[] | ((text: string) => unknown)];

/**
 * A command as data. `act` is given the options and the argument as commander reads them; each command says in the types
 * of its own parameters what these are.
 */
export type Verb = Described & { readonly summary: string };

/** A command of which the help of the program has the summary. */
export type Described = {
  readonly description: string;
  /** Every command has at least one. */
  readonly examples: readonly string[];
  readonly argument?: readonly [flags: string, help: string, values?: readonly string[]];
  readonly options?: readonly OptionRow[];
  /** What the help says between the options and the examples. */
  readonly notes?: string;
  readonly act: (
    context: Context,
    options: never,
    argument: never,
    command: Command,
  ) => Promise<void>;
  /** The verbs of a noun that does something by itself, too. */
  readonly verbs?: Verbs;
};

/** A noun, with its verbs and nouns below it in the order of the help. */
export type Noun = { readonly summary: string; readonly verbs: Verbs };
export type Verbs = { readonly [name: string]: Verb | Noun };

/** The options of most commands. */
export const jsonOption: OptionRow = [
  '--json [fields]',
  'print JSON: everything, or these fields (separated by commas)',
];

/** How a list is printed. */
const formats = ['table', 'wide', 'json', 'ndjson', 'csv', 'name'] as const;
export type Format = (typeof formats)[number];

/** The options of lists, beside --json. */
export const formatOptions: readonly OptionRow[] = [
  ['-o, --output <format>', 'print the list so (default: table)', formats],
  ['--no-header', 'print no titles of columns'],
];
export const yesOption: OptionRow = ['--yes', 'do not ask'];

/** Filters as options. */
export function optionsOf(filters: Filters): OptionRow[] {
  return Object.entries(filters).flatMap(([name, { value = name, help, choices }]) => {
    if (help === undefined) return [];
    const flags = `--${name} <${value}>`;
    return [choices === undefined ? [flags, help] : [flags, help, choices]];
  });
}

export const [tenantOption] = optionsOf({ tenant: tenantFilter }) as [OptionRow];

export const signInOption: OptionRow = [
  '--print-sign-in',
  'print the one-time sign-in link even if stdout is no terminal: whoever reads it gets in',
];

/** Adds a command without a summary or a verb; the description of a noun is its summary. */
export function addNoun(
  parent: Command,
  name: string,
  summary: string,
  options: { hidden?: boolean } = {},
): Command {
  return parent.command(name, options).summary(summary).description(summary).helpCommand(false);
}

export function addVerbs(parent: Command, context: Context, verbs: Verbs): void {
  for (const [name, verb] of Object.entries(verbs)) {
    if (!('act' in verb)) addVerbs(addNoun(parent, name, verb.summary), context, verb.verbs);
    else fillVerb(parent.command(name).summary(verb.summary), context, verb);
  }
}

/** Gives a command its words, its options and what it does. */
export function fillVerb(command: Command, context: Context, verb: Described): void {
  const { description, argument, options = [], examples, notes, verbs = {} } = verb;
  command.description(description);
  if (argument !== undefined) {
    const [flags, help, values] = argument;
    const made = command.createArgument(flags, help);
    command.addArgument(values === undefined ? made : made.choices(values));
  }
  for (const row of options) {
    if (row instanceof Option) command.addOption(row);
    else addOption(command, row);
  }
  command.action((...given: unknown[]) => {
    const [word, asked] = argument === undefined ? [undefined, given[0]] : given;
    return verb.act(context, asked as never, word as never, command);
  });
  if (notes !== undefined) command.addHelpText('after', notes);
  const lines = examples.map((line) => `  $ ${line}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  addVerbs(command, context, verbs);
}

function addOption(command: Command, [flags, help, value]: Exclude<OptionRow, Option>): void {
  if (typeof value === 'function') command.option(flags, help, value);
  else if (value === undefined) command.option(flags, help);
  else command.addOption(new Option(flags, help).choices(value));
}

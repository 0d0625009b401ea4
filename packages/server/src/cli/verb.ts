import { type Command, Option } from 'commander';
import { AppError } from '../kernel/errors.ts';
import { type Filters, tenantFilter } from '../kernel/view.ts';
import type { Route } from './client.ts';
import type { Context } from './context.ts';
import type { Answers } from './fields.ts';

/**
 * An option: its flags, what the help says of it, and, unless its value is any text, the words that it may be or the
 * function that reads it. Its field is its name in the API, where that is another than its own with underscores. One
 * whose help ends with `(required)` must be given. What says more about itself is given as commander takes it.
 */
export type OptionRow =
  | Own<object>
  | readonly [
      flags: string,
      help: string,
      value?: readonly string[] | ((text: string) => unknown) | undefined,
      field?: string,
    ];

/** An option of commander, with what it gives to `act`. */
export type Own<Given extends object> = Option & { readonly given?: Given };

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
  /** The route that it calls, if it calls one. Unless this is not plain, its options are what the route takes. */
  readonly route?: Route;
  readonly isPlain?: boolean;
  /** What --json prints, and so which fields it may name. */
  readonly answers?: Answers;
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

export type Argument = NonNullable<Described['argument']>;
type Typed<Rows extends readonly OptionRow[], Arg extends Argument | undefined> = Omit<
  Described,
  'act' | 'options' | 'argument'
> & {
  readonly options?: Rows;
  readonly argument?: Arg;
  act(
    context: Context,
    options: Given<Rows>,
    argument: ArgumentOf<Arg>,
    command: Command,
  ): Promise<void>;
};

/** Describes a command whose `act` is given what its options and its argument say that they give. */
export function command<
  const Rows extends readonly OptionRow[] = [],
  const Arg extends Argument | undefined = undefined,
>(typed: Typed<Rows, Arg>): Described {
  return typed as Described;
}

/** The same for the verb of a noun. */
export function verb<
  const Rows extends readonly OptionRow[] = [],
  const Arg extends Argument | undefined = undefined,
>(typed: Typed<Rows, Arg> & { readonly summary: string }): Verb {
  return typed as Verb;
}

/** What options give, as their rows tell: `['--dry-run', …]` gives a `dryRun` that is true, or is not there. */
export type Given<Rows extends readonly OptionRow[]> =
  Takers<Rows[number]> extends (given: infer All) => void ? All : never;
type Takers<Row> = Row extends unknown ? (given: GivenBy<Row>) => void : never;

type GivenBy<Row> =
  Row extends Own<infer Gives>
    ? Gives
    : Row extends readonly [`--no-${infer Name}`, string]
      ? { [N in Camel<Name>]: boolean }
      : Row extends readonly [
            `${'' | '-o, '}--${infer Name} <${infer Value}>`,
            infer Help,
            (infer Read)?,
            string?,
          ]
        ? ValueGiven<Camel<Name>, Help, Value extends `${string}...` ? Word<Read>[] : Word<Read>>
        : Row extends readonly [`--${infer Name} [${string}]`, string, (infer Read)?, string?]
          ? { [N in Camel<Name>]?: true | Word<Read> }
          : Row extends readonly [`--${infer Name}`, string, undefined?, string?]
            ? { [N in Camel<Name>]?: true }
            : unknown;
type ValueGiven<Name extends string, Help, Value> = Help extends `${string}(required)`
  ? { [N in Name]: Value }
  : { [N in Name]?: Value };
/** What is read of a value: one of some words, what a function makes of it, or any text. */
type Word<Read> = Read extends readonly (infer Choice)[]
  ? Choice
  : Read extends (text: string) => infer Value
    ? Value
    : string;
type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
export type ArgumentOf<Arg> = Arg extends readonly [
  infer Flags,
  string,
  (readonly (infer Choice)[])?,
]
  ? Flags extends `${string}...>` | `${string}...]`
    ? string[]
    : Flags extends `[${string}`
      ? string | undefined
      : unknown extends Choice
        ? string
        : Choice
  : undefined;

/** The options of most commands. */
export const jsonOption = [
  '--json [fields]',
  'print JSON: everything, or these fields (separated by commas)',
] as const;

export const localOption = [
  '--local',
  'tell times in the zone of this machine instead of UTC',
] as const;

/** How a list is printed. */
const formats = ['table', 'wide', 'json', 'ndjson', 'csv', 'name'] as const;
export type Format = (typeof formats)[number];

/** The options of lists, beside --json. */
export const formatOptions = [
  ['-o, --output <format>', 'print the list so (default: table)', formats],
  ['--no-header', 'print no titles of columns'],
] as const;
export const yesOption = ['--yes', 'do not ask'] as const;

/** Filters as options. */
export function optionsOf(filters: Filters): OptionRow[] {
  return Object.entries(filters).flatMap(([name, { value = name, help, choices }]) => {
    if (help === undefined) return [];
    const flags = `--${name} <${value}>`;
    return [choices === undefined ? [flags, help] : [flags, help, choices]];
  });
}

export const tenantOption = ['--tenant <tenant>', tenantFilter.help] as const;

export const signInOption = [
  '--print-sign-in',
  'print the one-time sign-in link even if stdout is no terminal: whoever reads it gets in',
] as const;

/** The option --json, with what its fields are of. */
export type WithAnswers = Option & { answers?: Answers };

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
  for (const [name, one] of Object.entries(verbs)) {
    if (!('act' in one)) addVerbs(addNoun(parent, name, one.summary), context, one.verbs);
    else fillVerb(parent.command(name).summary(one.summary), context, one);
  }
}

/** Gives a command its words, its options and what it does. */
export function fillVerb(command: Command, context: Context, described: Described): void {
  const { description, argument, options = [], answers, examples, notes, verbs = {} } = described;
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
  const json: WithAnswers | undefined = command.options.find(({ long }) => long === '--json');
  if (json?.optional && answers !== undefined) json.answers = answers;
  command.action(async (...given: unknown[]) => {
    const [word, options] = argument === undefined ? [undefined, given[0]] : given;
    // The help alone loads none of this.
    const [{ checkFields }, { spellQuarter }] = await Promise.all([
      import('./fields.ts'),
      import('./slice.ts'),
    ]);
    const asked = spellQuarter(options as Readonly<Record<string, unknown>>);
    requireAll(command, asked);
    await checkFields(asked.json, answers);
    return described.act(context, asked as never, word as never, command);
  });
  if (notes !== undefined) command.addHelpText('after', notes);
  const lines = examples.map((line) => `  $ ${line}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
  addVerbs(command, context, verbs);
}

/**
 * Throws `usage_invalid` for an option that must be there. commander's `requiredOption` is not used: for a mistyped
 * `--tennant` it would say that `--tenant` is missing, instead of asking whether `--tenant` was meant.
 */
function requireAll({ options }: Command, given: Readonly<Record<string, unknown>>): void {
  for (const option of options) {
    if (!option.description.endsWith('(required)')) continue;
    if (given[option.attributeName()] !== undefined) continue;
    const words = option.argChoices?.map((word) => `${option.long} ${word}`) ?? [];
    const advice = words.length === 0 ? '' : ` Give ${words.join(' or ')}.`;
    throw new AppError('usage_invalid', { detail: `${option.long} is missing.${advice}` });
  }
}

export function flagsOf(row: OptionRow): string {
  return row instanceof Option ? row.flags : row[0];
}

function addOption(command: Command, [flags, help, value]: Exclude<OptionRow, Option>): void {
  if (typeof value === 'function') command.option(flags, help, value);
  else if (value === undefined) command.option(flags, help);
  else command.addOption(new Option(flags, help).choices(value));
}

import { type Command, Option } from 'commander';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { jsonFlags, jsonHelp } from './output.ts';

/**
 * An option: its flags, what the help says of it, and, unless its value is any text, the words that it may be or the
 * function that reads it.
 */
export type OptionRow =
  | readonly [flags: string, help: string]
  | readonly [flags: string, help: string, value: readonly string[] | ((text: string) => unknown)];

/**
 * A command as data. `act` is given the options and the argument as commander reads them; each command says in the types
 * of its own parameters what these are.
 */
export type Verb = {
  readonly summary: string;
  readonly description: string;
  /** Every command has at least one. */
  readonly examples: readonly string[];
  readonly argument?: readonly [flags: string, help: string];
  readonly options?: readonly OptionRow[];
  readonly act: (context: Context, options: never, argument: never) => Promise<void>;
};

/** A noun, with its verbs and nouns below it in the order of the help. */
export type Noun = { readonly summary: string; readonly verbs: Verbs };
export type Verbs = { readonly [name: string]: Verb | Noun };

/** The options of most commands. */
export const jsonOption: OptionRow = [jsonFlags, jsonHelp];
export const yesOption: OptionRow = ['--yes', 'do not ask'];
export const tenantOption: OptionRow = ['--tenant <tenant>', 'only of this tenant'];

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
    if ('verbs' in verb) addVerbs(addNoun(parent, name, verb.summary), context, verb.verbs);
    else fillVerb(parent.command(name).summary(verb.summary), context, verb);
  }
}

/** Gives a command its words, its options and what it does. */
export function fillVerb(command: Command, context: Context, verb: Omit<Verb, 'summary'>): void {
  command.description(verb.description);
  if (verb.argument !== undefined) command.argument(...verb.argument);
  for (const [flags, help, value] of verb.options ?? []) {
    if (typeof value === 'function') command.option(flags, help, value);
    else if (value === undefined) command.option(flags, help);
    else command.addOption(new Option(flags, help).choices(value));
  }
  command.action((...given: unknown[]) => {
    const [argument, options] = verb.argument === undefined ? [undefined, given[0]] : given;
    return verb.act(context, options as never, argument as never);
  });
  withExamples(command, verb.examples);
}

import { type Command, InvalidArgumentError } from 'commander';
import { AppError } from '../kernel/errors.ts';

/** Adds examples below a command's help; every command has at least one. */
export function withExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}`,
  );
}

/** Reads an option's whole number. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min) return value;
    throw new InvalidArgumentError(`It is not a whole number from ${min} on.`);
  };
}

/**
 * An option that must be there. Not commander's `requiredOption`, which would call a mistyped
 * `--tennant` a missing `--tenant` instead of asking whether that was meant.
 */
export function required(value: string | undefined, flag: string): string {
  if (value !== undefined) return value;
  throw new AppError('usage_invalid', { detail: `${flag} is missing.` });
}

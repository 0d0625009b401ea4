import { type Command, InvalidArgumentError } from 'commander';

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

/** Collects an option that may be given more than once. */
export function collect(text: string, earlier: readonly string[] = []): string[] {
  return [...earlier, text];
}

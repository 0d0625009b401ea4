import type { Command, Option } from 'commander';

/** What may follow a command's words. */
export type CompletionNode = {
  /** "/records/ls"; "" is svcctl itself. */
  readonly path: string;
  readonly commands: readonly { name: string; summary: string }[];
  readonly options: readonly CompletionOption[];
  /** Words that may stand as an argument; null = a file, empty = nothing known. */
  readonly argument: readonly string[] | null;
};

export type CompletionOption = {
  /** "--tenant" */
  readonly flag: string;
  readonly summary: string;
  /** What comes after it. */
  readonly value: 'none' | 'optional' | 'free' | 'file' | 'tenant' | readonly string[];
};

/** All commands with their options, from commander's own tree: the scripts cannot forget one. */
export function completionTree(program: Command): CompletionNode[] {
  const nodes: CompletionNode[] = [];
  const visit = (command: Command, path: string) => {
    const help = command.createHelp();
    const commands = help.visibleCommands(command).filter((child) => child.name() !== 'help');
    nodes.push({
      path,
      commands: commands.map((child) => ({
        name: child.name(),
        summary: child.summary() || child.description(),
      })),
      options: help.visibleOptions(command).flatMap(optionOf),
      argument: argumentOf(command),
    });
    for (const child of commands) visit(child, `${path}/${child.name()}`);
  };
  visit(program, '');
  return nodes;
}

function optionOf(option: Option): CompletionOption[] {
  if (option.long === undefined || option.long === null) return [];
  return [{ flag: option.long, summary: option.description, value: followingOf(option) }];
}

function followingOf(option: Option): CompletionOption['value'] {
  if (option.argChoices !== undefined) return option.argChoices;
  if (option.long === '--tenant') return 'tenant';
  if (option.long === '--out' || option.long === '--manifest') return 'file';
  if (option.optional) return 'optional';
  return option.required ? 'free' : 'none';
}

function argumentOf(command: Command): readonly string[] | null {
  const [argument] = command.registeredArguments;
  if (argument?.argChoices !== undefined) return argument.argChoices;
  return argument?.name() === 'file' ? null : [];
}

import type { Command } from 'commander';
import { presets, type Scope } from '../kernel/actor.ts';
import type { Connection } from './connection.ts';
import type { Failure } from './failure.ts';

/** Lines that say what to do next, beside what the error itself says. */
export function hintsFor(failure: Failure, connection: Connection | undefined): string[] {
  switch (failure.code) {
    case 'scope_missing':
      return scopeHints(failure.detail);
    case 'token_missing':
    case 'token_malformed':
    case 'token_unknown':
    case 'token_expired':
    case 'token_revoked':
      return connection === undefined ? [] : tokenHints(connection);
    default:
      return [];
  }
}

/** The command words' own help, and the traps of the global options. */
export function usageHints(program: Command, argv: readonly string[], message: string): string[] {
  const path = commandPath(program, argv);
  const hints = [`See: ${path} --help`];
  if (message.includes("'--profile'")) {
    hints.unshift(`The connection's profile stands first: svcctl --profile NAME ${path.slice(7)}`);
  }
  if (message.includes("'--token'")) {
    hints.unshift(
      'A token on the command line shows in the process list. Use SVC_TOKEN or svcctl login.',
    );
  }
  return hints;
}

function scopeHints(detail: string): string[] {
  const scope = /scope ([a-z]+(?::[a-z]+)?)/.exec(detail)?.[1];
  const preset = Object.entries(presets).find(([, scopes]) =>
    (scopes as readonly Scope[]).includes(scope as Scope),
  )?.[0];
  if (preset === undefined) return [];
  return [`svcctl tokens create --name NAME --preset ${preset}`];
}

function tokenHints(connection: Connection): string[] {
  switch (connection.source) {
    case 'environment':
      return ['The token came from SVC_TOKEN.'];
    case 'profile':
      return [
        `The token came from the profile ${connection.profile}. Sign in again:`,
        `svcctl login --profile ${connection.profile}`,
      ];
    case 'local service':
      return [
        'The token came from the file admin-token in the data folder. Make a new one there:',
        'svcctl tokens create --local --name admin --preset admin',
      ];
  }
}

/** "svcctl records ls" of the arguments that lead there. */
export function commandPath(program: Command, argv: readonly string[]): string {
  let command = program;
  let path = program.name();
  for (const word of argv) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next === undefined) continue;
    command = next;
    path += ` ${word}`;
  }
  return path;
}

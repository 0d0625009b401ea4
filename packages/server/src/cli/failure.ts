import type { Command } from 'commander';
import { AppError, type InputFault } from '../kernel/errors.ts';
import { NotJson } from '../kernel/json-items.ts';
import { presetWith } from '../kernel/values.ts';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import { type Io, styled } from './io.ts';
import { notJson } from './parse-answer.ts';
import { printable } from './table.ts';
import { ownWords } from './words.ts';

/** An error as the command line prints it. */
export type Failure = {
  code: string;
  detail: string;
  /** The HTTP status if the service refused; null if the command itself did. */
  status: number | null;
  /** The id under which the service has logged the request; null when it did not answer. */
  requestId: string | null;
  errors: readonly InputFault[];
  exitCode: number;
  /** What to do next, in addition to `detail`; each hint is a line. */
  hints: readonly string[];
};

/** Turns anything that was thrown into a failure. */
export function toFailure(error: unknown): Failure {
  if (error instanceof ApiError) {
    const { code, detail, status, requestId, errors, exitCode, advice, retryAfterSeconds } = error;
    const isSaid = retryAfterSeconds === undefined || detail.includes('Try again in');
    const when = isSaid ? [] : [`Try again in ${retryAfterSeconds} s.`];
    return { code, detail, status, requestId, errors, exitCode, hints: [...advice, ...when] };
  }
  if (error instanceof NotJson) return toFailure(notJson(error));
  const local = { status: null, requestId: null, hints: [] };
  if (error instanceof AppError) {
    return {
      ...local,
      hints: error.code === 'database_unavailable' ? reasonsOf(error.cause) : [],
      code: error.code,
      detail: error.detail,
      errors: error.errors ?? [],
      exitCode: error.exitCode,
    };
  }
  // This is a bug in svcctl itself: only the stack says where it is.
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    ...local,
    code: 'internal_error',
    detail: `Unexpected ${stack}`,
    errors: [],
    exitCode: 1,
  };
}

/** What the driver said of a database that this command itself could not reach: the settings are the caller's own. */
function reasonsOf(cause: unknown): string[] {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? [`the database: ${first.message}`] : [];
}

/** The failure as one JSON object, which programs read from stderr. */
export function failureJson(failure: Failure): string {
  return JSON.stringify({
    code: failure.code,
    detail: failure.detail,
    status: failure.status,
    request_id: failure.requestId,
    errors: failure.errors,
  });
}

/**
 * For people:
 *
 *     error: this token lacks the scope analytics:read (403 scope_missing)
 *       It is "ops laptop" with enrichment:read. Ask an admin for the preset support-readonly:
 *       svcctl tokens create --name NAME --preset support-readonly
 *       request req_…
 */
export function failureText(io: Io, failure: Failure): string {
  const { headline, rest } = splitDetail(failure);
  const code = failure.status === null ? failure.code : `${failure.status} ${failure.code}`;
  const lines = [...rest, ...failure.hints];
  if (failure.requestId !== null) lines.push(`request ${failure.requestId}`);
  const head = `${styled(io, io.stderr, 'red', 'error:')} ${printable(headline)} (${code})`;
  return `${[head, ...lines.map((line) => `  ${printable(line)}`)].join('\n')}\n`;
}

/** Splits the detail: the first sentence becomes the headline with the code, and each of several faults gets a line. */
function splitDetail(failure: Failure): { headline: string; rest: string[] } {
  if (failure.errors.length > 1) {
    const faults = failure.errors.map(
      (fault) => `${fault.path.replace(/^[?/]/, '')}: ${fault.message}`,
    );
    return { headline: 'the input is not valid', rest: faults };
  }
  const [paragraph = '', ...lines] = failure.detail.split('\n');
  const [, first = paragraph, rest = ''] = /^(.+?[.!?]) (.+)$/.exec(paragraph) ?? [];
  return {
    headline: lowerFirst(first.replace(/\.$/, '')),
    rest: rest === '' ? lines : [rest, ...lines],
  };
}

/** Lowers the first letter ("This token" → "this token"), but not in names such as PostgreSQL and SVC_PORT. */
function lowerFirst(sentence: string): string {
  return /^[A-Z][a-z]*(?=[\s,:']|$)/.test(sentence)
    ? sentence.charAt(0).toLowerCase() + sentence.slice(1)
    : sentence;
}

/** Hints on what to do next, in addition to what the error itself says. */
export function hintsFor(failure: Failure, connection: Connection | undefined): string[] {
  switch (failure.code) {
    case 'scope_missing':
      return scopeHints(failure.detail);
    case 'token_missing':
    case 'token_malformed':
    case 'token_unknown':
    case 'token_expired':
    case 'token_revoked':
    case 'token_unvouched':
      return connection === undefined ? [] : tokenHints(connection);
    default:
      return [];
  }
}

/** Hints after a usage error: the help of the command, and common mistakes with the global options. */
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
  if (scope === undefined) return [];
  const preset = presetWith(scope);
  const grant = preset === undefined ? `--scope ${scope}` : `--preset ${preset}`;
  return [`svcctl tokens create --name NAME ${grant}`];
}

/** What to do about a token that was refused: this depends on where the token was found. */
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

/** The command that the arguments name, such as "svcctl records ls". */
function commandPath(program: Command, argv: readonly string[]): string {
  const names: string[] = [];
  let command: Command | null = ownWords(program, argv).command;
  for (; command !== null; command = command.parent) names.unshift(command.name());
  return names.join(' ');
}

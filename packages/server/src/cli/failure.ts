import { AppError, type InputFault } from '../kernel/errors.ts';
import { ApiError } from './api-error.ts';
import type { Io } from './io.ts';
import { styled } from './style.ts';
import { printable } from './text-width.ts';

/** An error as the command line tells it. */
export type Failure = {
  code: string;
  detail: string;
  /** HTTP status when the service refused; null when the command itself did. */
  status: number | null;
  requestId: string | null;
  errors: readonly InputFault[];
  exitCode: number;
  /** What to do next, one line each, beside what `detail` says. */
  hints: readonly string[];
};

/** Anything thrown, as a failure. */
export function toFailure(error: unknown): Failure {
  if (error instanceof ApiError) {
    const { code, detail, status, requestId, errors, exitCode, advice } = error;
    return { code, detail, status, requestId, errors, exitCode, hints: advice };
  }
  const local = { status: null, requestId: null, hints: [] };
  if (error instanceof AppError) {
    return {
      ...local,
      code: error.code,
      detail: error.detail,
      errors: error.errors ?? [],
      exitCode: error.exitCode,
    };
  }
  // A mistake of our own: only the stack says where.
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    ...local,
    code: 'internal_error',
    detail: `Unexpected ${stack}`,
    errors: [],
    exitCode: 1,
  };
}

/** One JSON object on stderr, for programs. */
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

/** The first sentence carries the code; each fault of several has a line of its own. */
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

/** "This token" → "this token"; names such as PostgreSQL and SVC_PORT stay. */
function lowerFirst(sentence: string): string {
  return /^[A-Z][a-z]*(?=[\s,:']|$)/.test(sentence)
    ? sentence.charAt(0).toLowerCase() + sentence.slice(1)
    : sentence;
}

import type { IncomingHttpHeaders } from 'node:http';
import { errorCatalogue, exitCodes, type InputFault } from '../kernel/errors.ts';

/** An error with which the service answered, as its problem document tells it (RFC 9457). */
export class ApiError extends Error {
  readonly status: number;
  /** A stable code. It may be newer than this command line's catalogue. */
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly errors: readonly InputFault[];
  readonly retryAfterSeconds: number | undefined;
  /** The whole problem document; empty when the answer was none, for instance HTML of a proxy. */
  readonly problem: Readonly<Record<string, unknown>>;
  /** What to do next, added by the command that knows. */
  readonly advice: string[] = [];

  constructor(status: number, headers: IncomingHttpHeaders, body: string) {
    const problem = parseProblem(body);
    const code =
      text(problem.code) ?? (isGateway(status) ? 'service_unreachable' : 'answer_unexpected');
    const detail = text(problem.detail) ?? text(problem.title) ?? unexplained(status, headers);
    super(`${code}: ${detail}`);
    this.name = 'ApiError';
    this.status = status;
    this.problem = problem;
    this.code = code;
    this.detail = detail;
    this.requestId = text(problem.request_id) ?? text(headers['x-request-id']) ?? null;
    this.errors = Array.isArray(problem.errors) ? (problem.errors as InputFault[]) : [];
    this.retryAfterSeconds = parseRetryAfter(headers['retry-after']);
  }

  get exitCode(): number {
    if (Object.hasOwn(errorCatalogue, this.code)) {
      return errorCatalogue[this.code as keyof typeof errorCatalogue].exit;
    }
    return exitOfStatus(this.status);
  }
}

/** The exit code for an error that the catalogue does not know. */
function exitOfStatus(status: number): number {
  if (isGateway(status)) return 5;
  return exitCodes[status] ?? (status >= 400 && status < 500 ? 2 : 1);
}

function isGateway(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

function unexplained(status: number, headers: IncomingHttpHeaders): string {
  const type = headers['content-type'] ?? 'no content type';
  const { location: target } = headers;
  if (target !== undefined)
    return `The service points to ${target} (${status}). Use that URL instead.`;
  return `The answer is a ${status} with ${type}, not one of svcctl's. Is this the right URL?`;
}

/** The problem document; empty when the body is no JSON object. */
function parseProblem(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Retry-After in seconds. The form with a date is ignored, since the service never sends it. */
function parseRetryAfter(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

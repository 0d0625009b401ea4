import type { InputFault } from './types.ts';

export type Params = Readonly<Record<string, string | number | undefined>>;

const basePath = '/api/v1';
/** Reads are quick or not answered at all: a service that hangs shows by the first poll that meets it. */
const readMillis = 10_000;
/** Those that may read cold data wait for its store, which the service itself gives 15 s, now and then more. */
const coldReadMillis = 60_000;
const coldReads = ['/enrichment/records', '/enrichment/facts', '/exports/estimate'];
const writeMillis = 30_000;

/** Take a token in their body: their 401 speaks of that one. */
const tokenPaths = ['/session', '/session/confirm'];

/** Fired on `window` when an answer says that the session has ended. */
export const sessionEndedEvent = 'svcctl:session-ended';

/** Fired on `window`, cancelable, when a call asks for the access token once more: a `StepUpRequest`. */
export const stepUpEvent = 'svcctl:step-up';

/** Who takes the event up (preventDefault) settles it: true = confirmed, so the call is made again. */
export type StepUpRequest = { readonly settle: (isConfirmed: boolean) => void };

export type ApiErrorFields = {
  /** HTTP status; 0 = no connection, or no answer within the time-out. */
  readonly status: number;
  /** Code of the service's catalogue; `connection_lost`, `timeout` and `answer_unreadable` are ours. */
  readonly code: string;
  /** What to do next, for people. */
  readonly detail: string;
  readonly requestId?: string | null;
  readonly retryAfterSeconds?: number | null;
  readonly errors?: readonly InputFault[];
};

/** What a call to the API throws, whatever went wrong; an abort by the caller throws AbortError. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly errors: readonly InputFault[];

  constructor(fields: ApiErrorFields, options?: ErrorOptions) {
    super(`${fields.code}: ${fields.detail}`, options);
    this.name = 'ApiError';
    this.status = fields.status;
    this.code = fields.code;
    this.detail = fields.detail;
    this.requestId = fields.requestId ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.errors = fields.errors ?? [];
  }
}

/** The API of the service that served this page; the session cookie goes along. */
export const api = {
  async get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('GET', pathWith(path, params), { signal }));
  },

  /** The answer as it came: JSON.parse would bend numbers such as 0.10 and those above 2^53. */
  async getText(path: string, params?: Params, signal?: AbortSignal): Promise<string> {
    return (await call('GET', pathWith(path, params), { signal })).text;
  },

  async post<T>(path: string, body: unknown, options: SendOptions = {}): Promise<T> {
    return parse<T>(await call('POST', path, { ...options, body: JSON.stringify(body) }));
  },

  async put<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('PUT', path, { body: JSON.stringify(body), signal }));
  },

  async patch<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('PATCH', path, { body: JSON.stringify(body), signal }));
  },

  /** `undefined` where the answer is empty. */
  async delete<T = undefined>(path: string, signal?: AbortSignal): Promise<T> {
    return parse<T>(await call('DELETE', path, { signal }));
  },
} as const;

/** The path with those parameters that have a value. */
export function pathWith(path: string, params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? path : `${path}?${search}`;
}

/** The error behind an answer that is not 2xx, whoever sent it: proxies answer HTML. */
export function errorOf(status: number, headers: Headers, text: string): ApiError {
  const problem = parseObject(text);
  const textOf = (name: string) => {
    const value = problem[name];
    return typeof value === 'string' ? value : undefined;
  };
  const retryAfter = headers.get('retry-after')?.trim();
  return new ApiError({
    status,
    code: textOf('code') ?? `http_${status}`,
    detail: textOf('detail') ?? textOf('title') ?? `The service answered ${status}.`,
    requestId: textOf('request_id') ?? headers.get('x-request-id'),
    retryAfterSeconds: retryAfter !== undefined && /^\d+$/.test(retryAfter) ? +retryAfter : null,
    errors: Array.isArray(problem.errors) ? (problem.errors as InputFault[]) : [],
  });
}

/** To be called on a 401 of requests that do not go through `api`. */
export function reportSessionEnd(): void {
  window.dispatchEvent(new Event(sessionEndedEvent));
}

export type SendOptions = {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
};
type Sent = SendOptions & { readonly body?: string };
type Answer = { readonly text: string; readonly requestId: string | null };

/** Makes a call; one that asks for the access token first is made again once that was given. */
async function call(method: string, path: string, sent: Sent): Promise<Answer> {
  try {
    return await send(method, path, sent);
  } catch (error) {
    if (!isStepUp(error) || !(await askForToken())) throw error;
    return send(method, path, sent);
  }
}

/** The call wanted the access token once more. Whoever sees this had the question and closed it. */
export function isStepUp(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'step_up_required';
}

function askForToken(): Promise<boolean> {
  return new Promise((settle) => {
    const request: StepUpRequest = { settle };
    const event = new CustomEvent(stepUpEvent, { detail: request, cancelable: true });
    if (window.dispatchEvent(event)) settle(false);
  });
}

function timeoutOf(method: string, path: string): number {
  if (method !== 'GET') return writeMillis;
  return coldReads.some((each) => path.startsWith(each)) ? coldReadMillis : readMillis;
}

async function send(
  method: string,
  path: string,
  { body, headers, signal }: Sent,
): Promise<Answer> {
  const timeoutMillis = timeoutOf(method, path);
  const timeout = AbortSignal.timeout(timeoutMillis);
  try {
    const response = await fetch(basePath + path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body ?? null,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const text = await response.text();
    if (response.ok) return { text, requestId: response.headers.get('x-request-id') };
    // A refused sign-in is no end of a session.
    if (response.status === 401 && !tokenPaths.includes(path)) reportSessionEnd();
    throw errorOf(response.status, response.headers, text);
  } catch (cause) {
    if (cause instanceof ApiError || signal?.aborted) throw cause;
    throw timeout.aborted
      ? new ApiError(
          {
            status: 0,
            code: 'timeout',
            detail: `No answer within ${timeoutMillis / 1000} s.`,
          },
          { cause },
        )
      : new ApiError(
          { status: 0, code: 'connection_lost', detail: 'The service cannot be reached.' },
          { cause },
        );
  }
}

function parse<T>({ text, requestId }: Answer): T {
  if (text === '') return undefined as T;
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    const detail = 'The answer is not JSON. Does something stand between here and the service?';
    throw new ApiError({ status: 502, code: 'answer_unreadable', detail, requestId }, { cause });
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
